import { startKafka } from '@baton/local-stack';
import { sharedServer } from './run-folder.js';

/** The brokers of this Jest run, `host:port`: one broker, started when the first test asks. Use topics of your own. */
export async function kafkaBrokers(): Promise<string> {
  const { address } = await sharedServer('kafka', async (folder) => {
    const broker = await startKafka({ dataDir: folder });
    broker.detach();
    return { address: broker.brokers, process: broker.identity };
  });
  return address;
}
