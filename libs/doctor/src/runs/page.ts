import type { Dag } from '@baton/core';
import type { RunRef, StoredRun } from '@baton/engine';
import { readRunStates } from '@baton/storage-postgres';
import type { Bounds } from '../bounds.js';
import type { Collector } from '../collector.js';
import type { Definitions } from '../definitions.js';
import { millisOf } from '../instants.js';
import type { Reader } from '../session.js';
import { RunJournal, type JournalRow } from './run-journal.js';
import type { ClockRow, KeyRow, OutboxRow, RunView, TimerRow } from './run-view.js';

/** A row of page-of-runs.sql. */
export interface RunRow {
  readonly run_id: string;
  readonly namespace: string;
  readonly journal_seq: string;
  readonly stuck_reason: string | null;
}

/** Journal rows of one run that are read at once. */
const JOURNAL_ROWS = 5_000;
/** Journal rows of a page, or one run: what is kept in memory. */
const PAGE_JOURNAL_ROWS = 50_000;

/** So many runs that their journals together are not too long; at least one. */
export function shorten(rows: readonly RunRow[]): readonly RunRow[] {
  let sum = 0;
  const end = rows.findIndex((row, index) => {
    sum += Number(row.journal_seq);
    return index > 0 && sum > PAGE_JOURNAL_ROWS;
  });
  return end < 0 ? rows : rows.slice(0, end);
}

export interface PageDeps {
  readonly reader: Reader;
  readonly definitions: Definitions;
  readonly collector: Collector;
  readonly bounds: Bounds;
}

/** Everything about these runs. Within the snapshot of `reader`. */
export async function loadPage(deps: PageDeps, rows: readonly RunRow[]): Promise<readonly RunView[]> {
  const { reader, collector } = deps;
  const refs: RunRef[] = rows.map((row) => ({ runId: row.run_id, namespace: row.namespace }));
  const runIds = refs.map((ref) => ref.runId);
  const states = await readRunStates(reader.client, refs);
  const dags = await loadDags(deps, states);
  const journals = await loadJournals(deps, states, dags);
  const clocks = groupOf(await reader.rows<ClockRow>('clocks-of-tasks', [runIds]));
  const timers = groupOf(await reader.rows<TimerRow>('timers-of-runs', [runIds]));
  const signals = groupOf(
    await reader.rows<{ run_id: string; buffered: string }>('buffered-signals-of-runs', [runIds]),
  );
  const messages = groupOf(await loadMessages(deps, journals));
  const keys = groupOf(await loadKeys(reader, states));
  const views = rows.flatMap((row): RunView[] => {
    const state = states.get(row.run_id)?.state;
    const journal = journals.get(row.run_id);
    if (state === undefined || journal === undefined) return [];
    return [
      {
        state,
        dag: dags.get(row.run_id) ?? null,
        stuckReason: row.stuck_reason,
        journal,
        clocks: clocks.get(row.run_id) ?? [],
        timers: timers.get(row.run_id) ?? [],
        messages: messages.get(row.run_id) ?? [],
        keys: keys.get(row.run_id) ?? [],
        buffered: Number(signals.get(row.run_id)?.[0]?.buffered ?? 0),
      },
    ];
  });
  count(collector, views);
  return views;
}

function count({ examined }: Collector, views: readonly RunView[]): void {
  for (const view of views) {
    examined.runs += 1;
    examined.tasks += view.state.tasks.size;
    examined.journalRows += view.journal.rows;
    examined.timers += view.timers.length;
  }
}

async function loadDags(
  { reader, definitions, collector }: PageDeps,
  states: ReadonlyMap<string, StoredRun>,
): Promise<ReadonlyMap<string, Dag>> {
  const dags = new Map<string, Dag>();
  for (const [runId, { state }] of states) {
    const dag = await definitions.of(reader, state);
    if (typeof dag !== 'string') dags.set(runId, dag);
    else {
      const what = `version ${state.definitionVersion} of definition ${state.definitionId} in ${state.namespace}`;
      collector.unable(what, dag, ['I6', 'I10']);
    }
  }
  return dags;
}

async function loadJournals(
  { reader }: PageDeps,
  states: ReadonlyMap<string, StoredRun>,
  dags: ReadonlyMap<string, Dag>,
): Promise<ReadonlyMap<string, RunJournal>> {
  const journals = new Map<string, RunJournal>();
  for (const [runId, { state }] of states) journals.set(runId, new RunJournal(state, dags.get(runId) ?? null));
  let asked = [...journals.keys()];
  while (asked.length > 0) {
    const after = asked.map((runId) => journals.get(runId)?.lastSeq ?? 0);
    const rows = groupOf(await reader.rows<JournalRow>('journal-of-runs', [asked, after, JOURNAL_ROWS]));
    for (const [runId, entries] of rows) for (const entry of entries) journals.get(runId)?.take(entry);
    asked = asked.filter((runId) => rows.get(runId)?.length === JOURNAL_ROWS);
  }
  for (const journal of journals.values()) journal.finish();
  return journals;
}

/** By the instants that the journal tells, as far as their partition is still there. */
async function loadMessages(
  { reader, bounds }: PageDeps,
  journals: ReadonlyMap<string, RunJournal>,
): Promise<readonly OutboxRow[]> {
  const runIds: string[] = [];
  const instants: string[] = [];
  for (const [runId, journal] of journals) {
    for (const at of new Set(journal.messages.map((message) => message.at))) {
      if (millisOf(at) < bounds.outboxMs) continue;
      runIds.push(runId);
      instants.push(at);
    }
  }
  return reader.rows<OutboxRow>('outbox-of-runs', [runIds, instants]);
}

async function loadKeys(reader: Reader, states: ReadonlyMap<string, StoredRun>): Promise<readonly KeyRow[]> {
  const runs = [...states.values()].map(({ state }) => state);
  return reader.rows<KeyRow>('keys-of-runs', [
    runs.map((run) => run.runId),
    runs.map((run) => run.namespace),
    runs.map((run) => run.definitionId),
  ]);
}

function groupOf<Row extends { readonly run_id: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.run_id);
    if (group === undefined) groups.set(row.run_id, [row]);
    else group.push(row);
  }
  return groups;
}
