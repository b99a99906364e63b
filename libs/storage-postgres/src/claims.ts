import type { ClaimableTask, ClaimTasks, LeasedTask } from '@baton/engine';
import { integer, integerOrNull, text, textOrNull, word } from './decode.js';
import type { Database, Row } from './pool.js';
import { TASK_KINDS } from './words.js';

type Definitions = ClaimTasks['definitions'];

/** R29: tasks of route local, of these definition versions; the same call again gets the same leases (R10). */
export async function claimTasks(db: Database, call: ClaimTasks): Promise<readonly LeasedTask[]> {
  if (call.definitions.length === 0 || call.limit <= 0) return [];
  const { namespace, owner, callId, ttlMs, limit } = call;
  const definitions = definitionColumns(call.definitions);
  const rows = await db.runRepeatable('claim-tasks', { namespace, owner, callId, ttlMs, limit, definitions });
  return rows.map((row) => decodeLeased(namespace, row));
}

/** What a claim would find: without locks, without leases. */
export async function readClaimable(
  db: Database,
  namespace: string,
  definitions: Definitions,
  limit: number,
): Promise<readonly ClaimableTask[]> {
  if (definitions.length === 0 || limit <= 0) return [];
  const rows = await db.runRepeatable('read-claimable', {
    namespace,
    limit,
    definitions: definitionColumns(definitions),
  });
  return rows.map((row) => decodeTask(namespace, row));
}

function definitionColumns(definitions: Definitions) {
  return {
    id: definitions.map(({ id }) => id),
    version: definitions.map(({ version }) => version),
    queue: definitions.map(({ queue }) => queue),
  };
}

/** The first columns of both statements. */
function decodeTask(namespace: string, row: Row): ClaimableTask {
  return {
    namespace,
    runId: text(row[0]),
    taskId: text(row[1]),
    nodeId: text(row[2]),
    item: integer(row[3]),
    kind: word(TASK_KINDS, row[4]),
    generation: integer(row[5]),
    attempt: integer(row[6]),
    failures: integer(row[7]),
    queue: text(row[8]),
    handler: text(row[9]),
    definitionId: text(row[10]),
    definitionVersion: integer(row[11]),
    epoch: integer(row[12]),
    traceparent: textOrNull(row[13]),
  };
}

function decodeLeased(namespace: string, row: Row): LeasedTask {
  const progress = textOrNull(row[18]);
  return {
    ...decodeTask(namespace, row),
    leaseId: text(row[14]),
    ttlMs: integer(row[15]),
    startToCloseMs: integerOrNull(row[16]),
    input: textOrNull(row[17]) ?? 'null',
    ...(progress !== null && { progress }),
  };
}
