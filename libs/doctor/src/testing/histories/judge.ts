import { check, parseDefinition, type Dag } from '@baton/core';
import { templateCompiler } from '@baton/expressions';
import { readRunStates } from '@baton/storage-postgres';
import type { Operation } from './twin.js';
import { Twin } from './twin.js';
import { freshId, openEngine, publishAll, type Played } from './group.js';
import { HistoryDatabase, NAMESPACE } from './history-database.js';
import type { Random } from './random.js';
import { differenceOf, rowsOf, versionsOf } from './rows.js';

const HISTORIES_AT_A_TIME = 8;

interface LogRow {
  readonly at_ms: string;
  readonly run_id: string;
  readonly what: 'write' | 'flag' | 'acquire' | 'heartbeat';
  readonly version: string | null;
  readonly call: string | null;
  readonly lease_id: string | null;
}

/** A history that something is wrong with; the message tells it whole. */
export class HistoryError extends Error {}

/**
 * The operations of all runs in one order in which they could have come one by one: that of the log, which was written
 * under the locks of the rows. Every write in the log was decided, and everything that was decided is in the log.
 */
export async function linearise(played: Played): Promise<readonly Operation[]> {
  const rows = await played.database.query<LogRow>(
    `SELECT (extract(epoch FROM at) * 1000)::bigint AS at_ms, run_id, what, version, call, lease_id
     FROM public.history_log ORDER BY seq`,
  );
  const operations: Operation[] = [];
  let writes = 0;
  for (const row of rows) {
    const runId = row.run_id;
    const atMs = Number(row.at_ms);
    if (row.what === 'flag') throw new HistoryError(`run ${runId} was flagged stuck`);
    if (row.what === 'write') {
      const commit = played.book.of(runId, Number(row.version));
      if (commit === undefined) throw new HistoryError(`version ${row.version} of run ${runId} was not decided`);
      writes += 1;
      const batch = `${commit.engine}/${commit.batchId.slice(-6)}`;
      for (const step of commit.steps) operations.push({ kind: 'step', runId, atMs, step, batch });
    } else {
      const call = row.call === null ? undefined : played.leaseCalls.get(row.call);
      if (call === undefined) throw new HistoryError(`nobody asked for the lease ${row.call} of run ${runId}`);
      operations.push({ kind: 'lease', runId, atMs, call, leaseId: row.lease_id ?? '' });
    }
  }
  if (writes !== played.book.size) throw new HistoryError(`${played.book.size} writes were held, ${writes} are there`);
  return operations;
}

/** One caller was told of each event that was applied: nobody of two, and nobody of none. */
export function checkAnswers(played: Played): void {
  const applied = new Map<string, number>();
  for (const { runId, steps } of played.book.all()) {
    const count = steps.filter(({ effect }) => effect === 'applied').length;
    applied.set(runId, (applied.get(runId) ?? 0) + count);
  }
  for (const runId of new Set([...applied.keys(), ...played.told.keys()])) {
    const [events, told] = [applied.get(runId) ?? 0, played.told.get(runId) ?? 0];
    if (events !== told)
      throw new HistoryError(`run ${runId}: ${events} events were applied, ${told} callers heard so`);
  }
}

/** core's own check over the states as they are stored. */
export async function checkStates({ database, definitions }: Played, runIds: readonly string[]): Promise<void> {
  const dags = new Map<string, Dag>();
  for (const { text, nextText } of definitions) {
    for (const parsed of [text, nextText].map((one) => parseDefinition(one, templateCompiler))) {
      if (parsed.ok) dags.set(`${parsed.dag.definitionId} ${parsed.dag.version}`, parsed.dag);
    }
  }
  const refs = runIds.map((runId) => ({ namespace: NAMESPACE, runId }));
  const states = await readRunStates(database.connection, refs);
  if (states.size !== runIds.length) throw new HistoryError(`${states.size} of ${runIds.length} runs are there`);
  for (const [runId, { state }] of states) {
    const dag = dags.get(`${state.definitionId} ${state.definitionVersion}`);
    const violations = dag === undefined ? ['no definition'] : check(state, dag);
    if (violations.length > 0) throw new HistoryError(`run ${runId}: ${JSON.stringify(violations)}`);
  }
}

/** R2: the same history, one event at a time, on one engine and a database of its own, leaves the same rows. */
export async function compareWithTwin(
  played: Played,
  operations: readonly Operation[],
  random: Random,
): Promise<{ readonly rows: number }> {
  const first = operations[0]?.atMs ?? 0;
  const database = await HistoryDatabase.open(first, { logged: false });
  const twin = new Twin(played, freshId);
  let open: ReturnType<typeof openEngine> | undefined;
  try {
    await publishAll(database, played.definitions);
    open = openEngine(database.url, { decide: twin.decide, newId: twin.nextId });
    const { engine } = open;
    for (const instant of byInstant(operations)) {
      await database.moveTo(instant[0]?.atMs ?? first);
      const histories = apart(played, instant);
      await inParallel(histories, async (history) => {
        for (const operation of history) {
          try {
            await twin.play(engine, operation, random);
          } catch (error) {
            const story = tell(played, operations, operation.runId, operation);
            throw new HistoryError(`${String(error)}\n${story}`, { cause: error });
          }
        }
      });
    }
    return await compareRows(played, operations, database);
  } finally {
    await open?.close();
    await database.close();
  }
}

/** Runs of operations at one instant: the clock moves in between. */
function byInstant(operations: readonly Operation[]): Operation[][] {
  const instants: Operation[][] = [];
  for (const operation of operations) {
    const last = instants.at(-1);
    if (last?.[0]?.atMs === operation.atMs) last.push(operation);
    else instants.push([operation]);
  }
  return instants;
}

/** Histories that have nothing to do with each other: of one run, or of the runs that one business key may name. */
function apart(played: Played, operations: readonly Operation[]): Operation[][] {
  const histories = new Map<string, Operation[]>();
  for (const operation of operations) {
    const start = played.starts.get(operation.runId);
    const key = start?.businessKey === undefined ? operation.runId : `${start.definitionId} ${start.businessKey}`;
    const history = histories.get(key);
    if (history === undefined) histories.set(key, [operation]);
    else history.push(operation);
  }
  return [...histories.values()];
}

/** Several histories at a time, of each one event at a time. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: HISTORIES_AT_A_TIME }, worker));
}

async function compareRows(
  played: Played,
  operations: readonly Operation[],
  twin: HistoryDatabase,
): Promise<{ readonly rows: number }> {
  const runIds = [...played.starts.keys()];
  const [inBatches, oneByOne] = [await rowsOf(played.database, runIds), await rowsOf(twin, runIds)];
  const [versions, twinVersions] = [await versionsOf(played.database, runIds), await versionsOf(twin, runIds)];
  let rows = 0;
  for (const runId of runIds) {
    const fail = (what: string): never => {
      throw new HistoryError(`${what}\n${tell(played, operations, runId)}`);
    };
    const lines = inBatches.get(runId) ?? [];
    rows += lines.length;
    if (lines.length === 0) fail('the run has no rows');
    const difference = differenceOf(lines, oneByOne.get(runId) ?? []);
    if (difference !== null) fail(difference);
    // `version` counts writes (I1): batches here, single events there. `last_commit` is the last of them (R6).
    const { version, lastCommit } = versions.get(runId) ?? { version: 0, lastCommit: '' };
    const last = played.book.of(runId, version);
    if (played.book.of(runId, version + 1) !== undefined || last === undefined)
      fail(`version ${version} is not the last`);
    if (last?.batchId !== lastCommit) fail(`last_commit is ${lastCommit}, but the batch was ${last?.batchId ?? ''}`);
    const steps = operations.filter((operation) => operation.kind === 'step' && operation.runId === runId).length;
    const single = twinVersions.get(runId)?.version ?? 0;
    if (single !== steps) fail(`${steps} events one by one made version ${single}`);
  }
  const [count] = await twin.query<{ n: string }>('SELECT count(*) AS n FROM baton.workflow_runs');
  if (Number(count?.n) !== runIds.length) throw new HistoryError(`${count?.n} runs instead of ${runIds.length}`);
  return { rows };
}

/** All that one run saw, in order: small enough to be read, and enough to play it again. */
function tell(played: Played, operations: readonly Operation[], runId: string, failed?: Operation): string {
  const start = played.starts.get(runId);
  const definition = played.definitions.find(({ id }) => id === start?.definitionId);
  const lines = operations
    .filter((operation) => operation.runId === runId)
    .map((operation) => {
      const mark = operation === failed ? '>>' : '  ';
      if (operation.kind === 'lease') return `${mark} at ${operation.atMs} ${JSON.stringify(operation.call)}`;
      const { event, effect, ids } = operation.step;
      return `${mark} at ${operation.atMs} in ${operation.batch} ${effect} ${JSON.stringify(event)} drew ${ids.join(' ')}`;
    });
  const texts = [definition?.text ?? '', definition?.nextText ?? ''];
  return [`run ${runId}`, ...texts, JSON.stringify(start), ...lines].join('\n');
}
