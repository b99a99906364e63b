import {
  EngineError,
  type JournalView,
  type ListRuns,
  type RunDetails,
  type RunPage,
  type RunView,
  type TaskView,
} from '@baton/engine';
import {
  failure,
  flag,
  instant,
  instantOrNull,
  integer,
  integerOrNull,
  jsonRows,
  text,
  textOrNull,
  word,
} from './decode.js';
import type { Database, Row } from './pool.js';
import { RUN_STATUSES, SHOWN_TASK_STATUSES, TASK_KINDS } from './words.js';

export async function getRun(
  db: Database,
  namespace: string,
  runId: string,
  withPayloads: boolean,
): Promise<RunDetails | undefined> {
  const [row] = await db.runRepeatable('get-run', { namespace, runId, withPayloads });
  if (row === undefined) return undefined;
  const leftOut = flag(row[19]);
  return {
    run: decodeRunView(row),
    tasks: jsonRows(row[17]).map((task) => decodeTaskView(task, withPayloads && !leftOut)),
    bufferedSignals: jsonRows(row[18]).map((signal) => ({
      signalId: text(signal[0]),
      name: text(signal[1]),
      receivedAt: instant(signal[2]),
    })),
    ...(withPayloads && { input: textOrNull(row[15]), output: textOrNull(row[16]) }),
    ...(leftOut && { payloadsLeftOut: true }),
  };
}

function decodeRunView(row: Row): RunView {
  return {
    runId: text(row[0]),
    namespace: text(row[1]),
    definitionId: text(row[2]),
    definitionVersion: integer(row[3]),
    status: word(RUN_STATUSES, row[4]),
    cause: textOrNull(row[5]),
    compensation: text(row[6]),
    epoch: integer(row[7]),
    failure: failure(row[8], row[9], row[10]),
    startedAt: instant(row[11]),
    endedAt: instantOrNull(row[12]),
    businessKey: textOrNull(row[13]),
    stuckReason: textOrNull(row[14]),
  };
}

function decodeTaskView(row: Row, withPayloads: boolean): TaskView {
  return {
    taskId: text(row[0]),
    nodeId: text(row[1]),
    item: integer(row[2]),
    kind: word(TASK_KINDS, row[3]),
    generation: integer(row[4]),
    status: word(SHOWN_TASK_STATUSES, row[5]),
    attempt: integer(row[6]),
    failures: integer(row[7]),
    losses: integer(row[8]),
    unknownOutcome: flag(row[9]),
    failure: failure(row[10], row[11], row[12]),
    leaseOwner: textOrNull(row[13]),
    createdAt: instant(row[14]),
    settledAt: instantOrNull(row[15]),
    ...(withPayloads && { input: textOrNull(row[16]), output: textOrNull(row[17]) }),
  };
}

/** Greater than every run id: the first page. */
const NEWEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Newest first; the cursor is opaque to callers and holds the last run id of the page. */
export async function listRuns(db: Database, query: ListRuns): Promise<RunPage> {
  const rows = await db.runRepeatable(statementOf(query), {
    namespace: query.namespace,
    before: query.cursor === undefined ? NEWEST : decodeCursor(query.cursor),
    definitionId: query.definitionId ?? null,
    definitionVersion: query.definitionVersion ?? null,
    statuses: query.statuses ?? [],
    businessKey: query.businessKey ?? null,
    // One more than asked for: is there another page?
    limit: query.pageSize + 1,
  });
  const runs = rows.slice(0, query.pageSize).map(decodeRunView);
  const last = runs.at(-1);
  return { runs, nextCursor: rows.length > query.pageSize && last !== undefined ? encodeCursor(last.runId) : null };
}

function statementOf(query: ListRuns): string {
  if (query.businessKey !== undefined) return 'list-runs-by-business-key';
  return query.statuses !== undefined && query.statuses.length > 0 ? 'list-runs-by-status' : 'list-runs';
}

function encodeCursor(runId: string): string {
  return Buffer.from(runId.replaceAll('-', ''), 'hex').toString('base64url');
}

function decodeCursor(cursor: string): string {
  const hex = Buffer.from(cursor, 'base64url').toString('hex');
  if (hex.length !== 32 || encodeCursor(hex) !== cursor) {
    throw new EngineError('invalid', 'CURSOR_INVALID', 'The cursor is not one that this list has given out.');
  }
  return hex; // PostgreSQL reads ids without dashes too.
}

export async function readHistory(
  db: Database,
  run: { readonly namespace: string; readonly runId: string },
  afterSeq: number,
  limit: number,
): Promise<readonly JournalView[]> {
  const rows = await db.runRepeatable('read-history', { ...run, afterSeq, limit });
  return rows.map((row) => ({
    seq: integer(row[0]),
    epoch: integer(row[1]),
    kind: text(row[2]),
    nodeId: textOrNull(row[3]),
    taskId: textOrNull(row[4]),
    taskKind: textOrNull(row[5]),
    attempt: integerOrNull(row[6]),
    code: textOrNull(row[7]),
    detail: textOrNull(row[8]),
    at: instant(row[9]),
  }));
}
