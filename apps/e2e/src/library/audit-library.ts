import { examine } from '@baton/doctor';
import { eventually } from '@baton/testkit';
import { groupBy, indexRecords, type Indexed } from '../audit/index-records.js';
import { callFigures, judgeCalls, type CallFigures } from '../audit/judge-calls.js';
import { judgeUndo } from '../audit/judge-undo.js';
import type { JournalRecord, LedgerRecord, RunRecord, TaskRecord } from '../audit/records.js';
import { JOURNAL, LEDGER, RUNS, TASKS } from '../audit/records.js';
import type { LibraryFleet } from './library-fleet.js';
import type { PlacedOrder } from './order-load.js';

/** A row of the example's own table of effects. */
export interface EffectRecord {
  readonly orderId: string;
  readonly what: string;
  readonly undone: boolean;
}

export interface LibraryVerdict {
  /** Empty = everything agrees. */
  readonly problems: readonly string[];
  readonly figures: CallFigures & {
    readonly runs: number;
    readonly ends: Readonly<Record<string, number>>;
    readonly effects: number;
  };
  readonly examined: Readonly<Record<string, unknown>>;
}

/** Waits until no run is open any more. */
export async function untilAllEnded(fleet: LibraryFleet, timeoutMs: number): Promise<void> {
  const sql = `SELECT run_id, status FROM baton.workflow_runs WHERE ended_at IS NULL LIMIT 5`;
  await eventually(
    async () => {
      const open = await fleet.rows(sql);
      if (open.length > 0) throw new Error(`open: ${JSON.stringify(open)}`);
      return true;
    },
    { timeoutMs, intervalMs: 250, what: 'every saga to end' },
  );
}

/**
 * Compares what was asked for, what the journal says, what the steps wrote into the ledger and what they left in the
 * shop's own table. The fleet must have been stopped. Afterwards the doctor looks at the database.
 */
export async function auditLibrary(fleet: LibraryFleet, orders: readonly PlacedOrder[]): Promise<LibraryVerdict> {
  const all = indexRecords({
    outcomes: [],
    runs: await fleet.rows<RunRecord>(RUNS),
    tasks: await fleet.rows<TaskRecord>(TASKS),
    journal: await fleet.rows<JournalRecord>(JOURNAL),
    outbox: [],
    deadOutboxRows: 0,
    ledger: await fleet.rows<LedgerRecord>(LEDGER, 'ledger'),
    messages: [],
  });
  const effects = await fleet.rows<EffectRecord>(EFFECTS);
  const report = await examine({ databaseUrl: fleet.postgres.url });
  const doctor = [
    ...report.findings.map(({ invariant, code, message }) => `doctor: ${invariant} ${code} ${message}`),
    ...report.unable.map(({ what, why }) => `doctor: unable to look at ${what}: ${why}`),
    ...(report.examined.runs === all.runs.length ? [] : [`doctor: looked at ${report.examined.runs} runs`]),
  ];
  return {
    problems: [...judgeOrders(all, orders, effects), ...judgeCalls(all), ...judgeUndo(all), ...doctor],
    figures: { runs: all.runs.length, ends: countBy(all.runs), effects: effects.length, ...callFigures(all) },
    examined: { ...report.examined },
  };
}

/** Each order has one run that ended as it must, with nothing open; and the shop is as that end says. */
export function judgeOrders(
  all: Indexed,
  orders: readonly PlacedOrder[],
  effects: readonly EffectRecord[],
): readonly string[] {
  const runs = new Map(all.runs.map((run) => [run.runId, run]));
  const effectsOf = groupBy(effects, (effect) => effect.orderId);
  const problems: string[] = orders.length === 0 ? ['there is nothing to judge'] : [];
  if (new Set(orders.map(({ runId }) => runId)).size !== orders.length) problems.push('two orders have one run');
  if (runs.size !== orders.length) problems.push(`${orders.length} orders have ${runs.size} runs`);
  for (const { orderId, runId, expected, kind } of orders) {
    const run = runs.get(runId);
    if (run === undefined) {
      problems.push(`order ${orderId} has no run`);
      continue;
    }
    const wanted = endOf(expected, runId, all);
    if (run.status !== wanted) problems.push(`order ${orderId} (${kind}) ended ${run.status}, not ${wanted}: ${runId}`);
    if (run.stuckReason !== null) problems.push(`run ${runId} is stuck: ${run.stuckReason}`);
    if (run.timers > 0) problems.push(`run ${runId} has ended and has ${run.timers} timers`);
    problems.push(...wrongEffects(orderId, run.status, effectsOf.get(orderId) ?? []));
  }
  return problems;
}

/** R17: a step that failed for good after a lost attempt may have had its effect, so it is undone. */
function endOf(expected: string, runId: string, all: Indexed): string {
  const isUnknown = all.tasksOfRun.get(runId)?.some((task) => task.kind === 'forward' && task.unknownOutcome) ?? false;
  return expected === 'FAILED' && isUnknown ? 'COMPENSATED' : expected;
}

const ALL = ['charged', 'reserved', 'shipped'];

function wrongEffects(orderId: string, status: string, effects: readonly EffectRecord[]): string[] {
  const standing = effects
    .filter(({ undone }) => !undone)
    .map(({ what }) => what)
    .sort();
  const wanted = status === 'SUCCEEDED' ? ALL : [];
  const isRight = standing.length === wanted.length && wanted.every((what, index) => what === standing[index]);
  return isRight ? [] : [`order ${orderId} is ${status}, and of it stands: ${standing.join(', ') || 'nothing'}`];
}

function countBy(runs: readonly RunRecord[]): Readonly<Record<string, number>> {
  return Object.fromEntries([...groupBy(runs, (run) => run.status)].map(([status, own]) => [status, own.length]));
}

const EFFECTS = `SELECT order_id AS "orderId", what, undone FROM shop.effects`;
