import { eventually } from '@baton/testkit';
import type { Client } from 'pg';
import type { StoreFixture } from './store-fixture.js';

/** Resolves once so many sessions of this database wait for a lock: the interleaving is then what the test wants. */
export async function waitingFor(fixture: StoreFixture, what: string, sessions = 1): Promise<void> {
  await eventually(
    async () => {
      const waiting = await fixture.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return waiting.length >= sessions;
    },
    { what: `${sessions} session(s) to wait for a ${what}` },
  );
}

/** Does any other transaction hold this row? Asked without waiting, from a session of its own. */
export async function isHeld(session: Client, table: string, where: string, values: unknown[]): Promise<boolean> {
  const { rows } = await session.query(`SELECT 1 FROM baton.${table} WHERE ${where} FOR UPDATE SKIP LOCKED`, values);
  return rows.length === 0;
}
