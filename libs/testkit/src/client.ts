import { Client } from 'pg';

const APPLICATION = 'testkit';

/** One connection for one piece of work. */
export async function withClient(url: string, work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: url, application_name: APPLICATION });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
