import { StoreError } from '@baton/engine';
import { text } from './decode.js';
import type { Database, Row, Session } from './pool.js';

/**
 * W16: readers of events go by the number of the transaction that wrote (events.ts). A transaction that got its number
 * with a first lock, and then waited for a run to which a younger one wrote meanwhile, would tell its events before that
 * one's. It gives its number back instead and begins again: nothing has been decided yet. Writes of one statement never
 * wait, so they need none of this; over Kafka the order is that of the commits.
 */
class OvertakenError extends Error {}

const MOST_TRIES = 20;

export async function againIfOvertaken<T>(db: Database, work: (session: Session) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await db.transaction(work);
    } catch (error) {
      if (!(error instanceof OvertakenError)) throw error;
      if (tries >= MOST_TRIES) throw new StoreError('transient', 'younger transactions came first every time');
    }
  }
}

/** Rows of the lock statements: run, number of its last writer, route. */
export async function refuseIfOvertaken(session: Session, locked: readonly Row[]): Promise<void> {
  const writers = locked.filter((row) => row[2] === 'local').map((row) => text(row[1]));
  if (writers.length === 0) return;
  const [row] = await session.run('own-transaction', {});
  const own = BigInt(text(row?.[0]));
  const next = BigInt(text(row?.[1]));
  if (writers.some((writer) => isYounger(writer, own, next))) throw new OvertakenError();
}

/**
 * The row holds 32 bits of its writer's number. One that nobody has had yet belongs to a row that is older than these
 * bits reach back.
 */
export function isYounger(writer: string, own: bigint, next: bigint): boolean {
  const full = own + BigInt.asIntN(32, BigInt(writer) - own);
  return full > own && full < next;
}
