import type { AcquireAnswer, AcquireLease, HeartbeatAnswer, HeartbeatCall } from '@baton/engine';
import { integer, integerOrNull, text, textOrNull, word } from './decode.js';
import type { Database, Row } from './pool.js';
import { firstRow } from './statements.js';
import { ACQUIRE_ANSWERS, HEARTBEAT_ANSWERS } from './words.js';

/** R9, R10: set-based, on task rows alone. */
export async function acquireLeases(db: Database, calls: readonly AcquireLease[]): Promise<readonly AcquireAnswer[]> {
  return answerInRounds(calls, { status: 'RETRY' }, async (round) => {
    const rows = await ask(db, 'acquire-leases', {
      ...taskColumns(round),
      attempt: round.map(({ call }) => call.attempt ?? null),
      owner: round.map(({ call }) => call.owner),
      callId: round.map(({ call }) => call.callId),
      ttlMs: round.map(({ call }) => call.ttlMs),
      wantInput: round.map(({ call }) => call.wantInput),
    });
    return rows.map((row) => [integer(row[0]), decodeAcquire(row)] as const);
  });
}

function decodeAcquire(row: Row): AcquireAnswer {
  const status = word(ACQUIRE_ANSWERS, row[1]);
  if (status !== 'GRANTED') return { status };
  const progress = textOrNull(row[6]);
  const input = textOrNull(row[7]);
  const startToCloseMs = integerOrNull(row[5]);
  return {
    status,
    attempt: integer(row[2]),
    leaseId: text(row[3]),
    ttlMs: integer(row[4]),
    ...(startToCloseMs !== null && { startToCloseMs }),
    ...(progress !== null && { progress }),
    ...(input !== null && { input }),
  };
}

export async function renewLeases(db: Database, calls: readonly HeartbeatCall[]): Promise<readonly HeartbeatAnswer[]> {
  return answerInRounds(calls, { status: 'RETRY' }, async (round) => {
    const rows = await ask(db, 'renew-leases', {
      ...taskColumns(round),
      attempt: round.map(({ call }) => call.attempt),
      leaseId: round.map(({ call }) => call.leaseId),
      ttlMs: round.map(({ call }) => call.ttlMs),
      progress: round.map(({ call }) => call.progress ?? null),
    });
    return rows.map((row) => [integer(row[0]), decodeHeartbeat(row)] as const);
  });
}

function decodeHeartbeat(row: Row): HeartbeatAnswer {
  const status = word(HEARTBEAT_ANSWERS, row[1]);
  const ttlMs = integerOrNull(row[2]);
  return { status, ...(ttlMs !== null && { ttlMs }) };
}

function ask(
  db: Database,
  statement: 'acquire-leases' | 'renew-leases',
  calls: Readonly<Record<string, readonly unknown[]>>,
): Promise<readonly Row[]> {
  if (calls['ord']?.length !== 1) return db.runRepeatable(statement, { calls });
  return db.runRepeatable(`${statement}-of-one`, { calls: firstRow(calls) });
}

interface TaskCall {
  readonly namespace: string;
  readonly runId: string;
  readonly taskId: string;
}

interface Placed<C> {
  readonly call: C;
  /** Position of the answer. */
  readonly index: number;
}

function taskColumns(round: readonly Placed<TaskCall>[]) {
  return {
    ord: round.map(({ index }) => index),
    runId: round.map(({ call }) => call.runId),
    taskId: round.map(({ call }) => call.taskId),
    namespace: round.map(({ call }) => call.namespace),
  };
}

/**
 * A statement sees a row once, so two calls about one task go in two rounds, in their order: the second sees what the
 * first did. Almost always there is one round.
 */
async function answerInRounds<C extends TaskCall, A>(
  calls: readonly C[],
  missing: A,
  askOnce: (round: readonly Placed<C>[]) => Promise<readonly (readonly [number, A])[]>,
): Promise<readonly A[]> {
  const answers: A[] = calls.map(() => missing);
  let waiting: readonly Placed<C>[] = calls.map((call, index) => ({ call, index }));
  while (waiting.length > 0) {
    const round = new Map<string, Placed<C>>();
    const later: Placed<C>[] = [];
    for (const placed of waiting) {
      const key = `${placed.call.runId}/${placed.call.taskId}`;
      if (round.has(key)) later.push(placed);
      else round.set(key, placed);
    }
    for (const [index, answer] of await askOnce([...round.values()])) answers[index] = answer;
    waiting = later;
  }
  return answers;
}
