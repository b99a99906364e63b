import { examine } from '../../examine.js';
import { definitionsFor, Group, publishAll, type GroupOptions, type Played } from './group.js';
import { HistoryDatabase } from './history-database.js';
import { checkAnswers, checkStates, compareWithTwin, HistoryError, linearise } from './judge.js';
import { Random } from './random.js';
import type { Operation } from './twin.js';

export interface HistoriesOptions {
  readonly seed: number;
  readonly histories: number;
  /** After so many the doctor looks, and the twin plays them again. */
  readonly groupOf?: number;
  readonly progress?: (figures: Figures) => void;
  /** Calls at random of one history, at most. */
  readonly longest?: number;
  readonly spoil?: GroupOptions['spoil'];
}

export interface Figures {
  readonly seed: number;
  histories: number;
  /** Calls that were made, and what they were answered. */
  calls: Record<string, number>;
  answers: Record<string, number>;
  /** Events that were applied or consumed, by kind. */
  events: Record<string, number>;
  writes: number;
  /** Writes that folded several events of one run (R2), and the most that one did. */
  folded: number;
  mostFolded: number;
  leases: number;
  /** Calls made at once, and events of one commit: how often each size was seen. */
  callBatches: Record<string, number>;
  commitBatches: Record<string, number>;
  statuses: Record<string, number>;
  doctorRounds: number;
  doctorExamined: Record<string, number>;
  rowsCompared: number;
  durationMs: number;
}

/** Random histories on two engines over one database; after each group the doctor, then the same one by one (R2). */
export async function playHistories(options: HistoriesOptions): Promise<Figures> {
  const started = Date.now();
  const { seed, histories, groupOf = 100, longest = 40, spoil } = options;
  const figures = noFigures(seed);
  for (let group = 0; figures.histories < histories; group += 1) {
    const count = Math.min(groupOf, histories - figures.histories);
    try {
      await playGroup(figures, new Random(seed + group), count, {
        longest,
        ...(spoil === undefined ? {} : { spoil }),
      });
    } catch (error) {
      const again = `HISTORIES_SEED=${seed + group} HISTORIES=${count} HISTORIES_LONGEST=${longest} plays this group again`;
      throw new HistoryError(`${again}\n${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
    figures.durationMs = Date.now() - started;
    options.progress?.(figures);
  }
  return figures;
}

async function playGroup(figures: Figures, random: Random, count: number, options: GroupOptions): Promise<void> {
  const atMs = Math.floor(Date.now() / 1_000) * 1_000;
  const database = await HistoryDatabase.open(atMs, { logged: true });
  try {
    const definitions = definitionsFor(random, Math.max(4, Math.ceil(count / 4)));
    await publishAll(database, definitions);
    const played = await new Group(database, random, definitions, options).play(count);
    const operations = await linearise(played);
    checkAnswers(played);
    const runIds = [...played.starts.keys()];
    await checkStates(played, runIds);
    await askDoctor(figures, database.url);
    const { rows } = await compareWithTwin(played, operations, random);
    figures.rowsCompared += rows;
    await addFigures(figures, played, operations);
  } finally {
    await database.close();
  }
}

async function askDoctor(figures: Figures, databaseUrl: string): Promise<void> {
  const report = await examine({ databaseUrl });
  if (!report.ok) {
    const { findings, unable } = report;
    throw new HistoryError(`the doctor is not content: ${JSON.stringify({ findings, unable }, null, 2)}`);
  }
  figures.doctorRounds += 1;
  for (const [what, n] of Object.entries(report.examined)) {
    figures.doctorExamined[what] = (figures.doctorExamined[what] ?? 0) + n;
  }
}

async function addFigures(figures: Figures, played: Played, operations: readonly Operation[]): Promise<void> {
  figures.histories += played.starts.size;
  figures.writes += played.book.size;
  for (const { steps } of played.book.all()) {
    if (steps.length > 1) figures.folded += 1;
    figures.mostFolded = Math.max(figures.mostFolded, steps.length);
  }
  for (const operation of operations) {
    if (operation.kind === 'lease') figures.leases += 1;
    else add(figures.events, operation.step.event.type, 1);
  }
  for (const [kind, n] of played.calls) add(figures.calls, kind, n);
  for (const [answer, n] of played.answers) add(figures.answers, answer, n);
  for (const [size, n] of played.batches) add(figures.callBatches, String(size), n);
  for (const [size, n] of played.engineBatches) add(figures.commitBatches, String(size), n);
  const rows = await played.database.query<{ status: string; n: string }>(
    'SELECT status, count(*) AS n FROM baton.workflow_runs GROUP BY status',
  );
  for (const { status, n } of rows) add(figures.statuses, status, Number(n));
}

function add(counts: Record<string, number>, key: string, n: number): void {
  counts[key] = (counts[key] ?? 0) + n;
}

function noFigures(seed: number): Figures {
  return {
    seed,
    histories: 0,
    calls: {},
    answers: {},
    events: {},
    writes: 0,
    folded: 0,
    mostFolded: 0,
    leases: 0,
    callBatches: {},
    commitBatches: {},
    statuses: {},
    doctorRounds: 0,
    doctorExamined: {},
    rowsCompared: 0,
    durationMs: 0,
  };
}
