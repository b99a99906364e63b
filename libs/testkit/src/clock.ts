import { withClient } from './client.js';

/**
 * Moves the time of one database by an interval, for instance `'1 hour'` or `'-10 seconds'`, measured from real
 * time. The clock is baton.now(), which rules leases, timers and deadlines (R27).
 */
export async function moveClock(url: string, interval: string): Promise<void> {
  await withClient(url, async (client) => {
    const shift = client.escapeLiteral(interval);
    await client.query(
      `CREATE OR REPLACE FUNCTION baton.now() RETURNS timestamptz
       LANGUAGE sql VOLATILE PARALLEL SAFE AS $$ SELECT clock_timestamp() + interval ${shift} $$`,
    );
  });
}
