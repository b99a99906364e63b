import { eventually, type Platform } from '@baton/testkit';
import type { OrderOutcome } from '../order-feeder.js';
import { readTopics } from '../events.js';
import { judge, type Verdict } from './judge.js';
import { JOURNAL, LEDGER, RUNS, TASKS } from './records.js';
import type { JournalRecord, LedgerRecord, OutboxRecord, Records, RunRecord, TaskRecord } from './records.js';

/**
 * Reads everything that is known about the order runs of a platform and judges it. The platform must have come to rest:
 * every run has ended. What the relay has not published within `relayMs` counts as lost.
 */
export async function auditOrders(
  platform: Platform,
  outcomes: readonly OrderOutcome[],
  relayMs = 60_000,
): Promise<Verdict> {
  const stored = await readStored(platform);
  const ids = new Set(stored.outbox.map((row) => row.id));
  const messages = await readTopics(platform.kafka.brokers, /^baton\.default\.(tasks\..+|events)$/, {
    enough: (read) => {
      const seen = new Set(read.map((message) => message.id));
      return [...ids].every((id) => seen.has(id));
    },
    timeoutMs: relayMs,
  });
  return judge({ ...stored, ledger: await readLedger(platform), messages, outcomes });
}

async function readStored(platform: Platform): Promise<Omit<Records, 'ledger' | 'messages' | 'outcomes'>> {
  return platform.sql(async (client) => {
    // One snapshot for all of it.
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const rows = async <T extends object>(sql: string): Promise<T[]> => (await client.query<T>(sql)).rows;
    const dead = await rows<{ count: number }>('SELECT count(*)::int AS count FROM baton.outbox_dead');
    return {
      runs: await rows<RunRecord>(RUNS),
      tasks: await rows<TaskRecord>(TASKS),
      journal: await rows<JournalRecord>(JOURNAL),
      outbox: await rows<OutboxRecord>(OUTBOX),
      deadOutboxRows: dead[0]?.count ?? -1,
    };
  });
}

const OUTBOX = `
  SELECT id, run_id AS "runId", run_seq::int AS "runSeq", topic, type, payload FROM baton.outbox`;

async function readLedger(platform: Platform): Promise<readonly LedgerRecord[]> {
  return platform.sql(async (client) => {
    return (await client.query<LedgerRecord>(LEDGER)).rows;
  }, platform.ledgerUrl);
}

/** Waits until no worker is inside a handler any more: a late row of a zombie is part of what is judged. */
export async function untilWorkersRest(platform: Platform, timeoutMs = 60_000): Promise<void> {
  await eventually(
    async () => {
      const ledger = await readLedger(platform);
      const running = new Set(platform.named('worker').map((worker) => worker.pid));
      const open = new Map<string, number>();
      for (const row of ledger.filter(({ pid }) => running.has(pid))) {
        const call = `${row.runId} ${row.node} ${row.kind} ${row.attempt}`;
        open.set(call, (open.get(call) ?? 0) + (row.event === 'started' ? 1 : -1));
      }
      const inside = [...open].filter(([, count]) => count > 0).map(([call]) => call);
      if (inside.length > 0) throw new Error(`inside a handler: ${inside.join(', ')}`);
      return true;
    },
    { timeoutMs, intervalMs: 200, what: 'the workers come to rest' },
  );
}
