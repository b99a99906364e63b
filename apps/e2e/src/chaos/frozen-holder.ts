import { randomUUID } from 'node:crypto';
import { eventually, type Platform, type ServiceProcess } from '@baton/testkit';
import { Client } from 'pg';
import { orderKinds } from '../orders.js';
import type { Rest } from '../rest.js';
import { portsOf } from './ports-of.js';

/** A coordinator that stands still in the middle of a transaction, and what it holds. */
export interface FrozenHolder {
  readonly service: ServiceProcess;
  /** By performance.now(). */
  readonly frozenAt: number;
  /** Its session at the server. */
  readonly backendPid: number;
  /** The order run that it has locked; ends like any accepted order. */
  readonly runId: string;
  readonly orderId: string;
  /** State of the session when it was frozen, by pg_stat_activity. */
  readonly state: string;
  readonly locks: number;
}

/**
 * Freezes a coordinator between two statements of a transaction that holds a run's lock. Not by luck: somebody else has
 * the run locked, a command makes a coordinator wait for it, that coordinator is stopped, and only then the lock is let
 * go. The command is a retry of a run that has not ended, which is refused and changes nothing.
 */
export async function freezeLockHolder(platform: Platform, rest: Rest, orderId: string): Promise<FrozenHolder> {
  const [accepted] = orderKinds();
  const runId = await rest.startOrder({ ...accepted?.input, orderId }, orderId, 120_000);
  for (let tried = 1; ; tried += 1) {
    const frozen = await freezeWaiting(platform, rest, runId);
    try {
      return { ...frozen, ...(await untilItHolds(platform, frozen.backendPid)), runId, orderId };
    } catch (error) {
      // Its time to wait was over before the lock was let go.
      frozen.service.thaw();
      if (tried === TRIES) throw error;
    }
  }
}

const TRIES = 5;

async function freezeWaiting(
  platform: Platform,
  rest: Rest,
  runId: string,
): Promise<Pick<FrozenHolder, 'service' | 'backendPid' | 'frozenAt'>> {
  const blocker = new Client({ connectionString: platform.postgres.url });
  blocker.on('error', () => undefined);
  await blocker.connect();
  try {
    await blocker.query('BEGIN');
    await blocker.query('SELECT FROM baton.workflow_runs WHERE run_id = $1 FOR UPDATE', [runId]);
    const waiting = await untilSomebodyWaits(platform, () => {
      rest.post(`/v1/runs/${runId}/retry`, { requestId: randomUUID() }).catch(() => undefined);
    });
    waiting.service.freeze();
    const frozenAt = performance.now();
    await blocker.query('ROLLBACK');
    return { ...waiting, frozenAt };
  } finally {
    await blocker.end();
  }
}

/**
 * The wait is bounded by lock_timeout, so it is asked again until a coordinator is found in it. On a connection of its
 * own: within a transaction pg_stat_activity says the same again and again.
 */
async function untilSomebodyWaits(
  platform: Platform,
  ask: () => void,
): Promise<{ service: ServiceProcess; backendPid: number }> {
  let askedAt = -Infinity;
  return platform.sql((client) =>
    eventually(
      async () => {
        if (performance.now() - askedAt > ASKED_EVERY_MS) {
          ask();
          askedAt = performance.now();
        }
        const { rows } = await client.query<{ pid: number; port: number }>(WAITING);
        for (const { pid, port } of rows) {
          const service = platform.named('coordinator').find((one) => one.running && portsOf(one.pid).has(port));
          if (service !== undefined) return { service, backendPid: pid };
        }
        return undefined;
      },
      { timeoutMs: 120_000, intervalMs: 5, what: 'a coordinator waits for the lock of a run' },
    ),
  );
}

/** Longer than lock_timeout (5 s): the one before has ended. */
const ASKED_EVERY_MS = 6_000;

const WAITING = `
  SELECT pid, client_port AS port FROM pg_stat_activity
  WHERE application_name = 'baton coordinator' AND wait_event_type = 'Lock' AND query ILIKE '%FOR NO KEY UPDATE%'`;

async function untilItHolds(platform: Platform, pid: number): Promise<{ state: string; locks: number }> {
  return platform.sql((client) =>
    eventually(
      async () => {
        const { rows } = await client.query<{ state: string; locks: number }>(HELD, [pid]);
        const [row] = rows;
        return row?.state === 'idle in transaction' && row.locks > 0 ? row : undefined;
      },
      { timeoutMs: 8_000, intervalMs: 5, what: `session ${pid} is idle in a transaction that holds locks` },
    ),
  );
}

const HELD = `
  SELECT state, (SELECT count(*)::int FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND l.mode = 'RowShareLock') AS locks
  FROM pg_stat_activity a WHERE pid = $1`;

/** Can somebody else lock the run by now? */
export async function isLockable(platform: Platform, runId: string): Promise<boolean> {
  return platform.sql(async (client) => {
    const sql = 'SELECT FROM baton.workflow_runs WHERE run_id = $1 FOR NO KEY UPDATE SKIP LOCKED';
    return (await client.query(sql, [runId])).rowCount === 1;
  });
}
