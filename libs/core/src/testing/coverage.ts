import type { Decision, ReportOutcome } from '../run/decide-types.js';
import type { RunEvent } from '../run/events.js';
import type { RunState, RunStatus, TaskState } from '../run/state.js';
import {
  REACHABLE,
  REACHABLE_ON_TASKS,
  REPORT_OUTCOMES,
  RUN_STATUSES,
  TASK_ROWS,
  type Effects,
  type TaskEventType,
  type TaskRowKind,
} from './reachable.js';

/** What came of an event: it changed the run, it was stale, or it was a command that may not be done now. */
export type Effect = 'applied' | 'ignored' | 'refused';

const EFFECTS: readonly Effect[] = ['applied', 'ignored', 'refused'];
const LETTERS: Readonly<Record<Effect, string>> = { applied: 'A', ignored: 'I', refused: 'R' };

/** More than this share of stale events: the histories are noise, and show little of the machine. */
const MOST_IGNORED = 0.7;

/**
 * Which part of the state machine some histories have seen: event × status of the run × effect, and for events about
 * a task also × what its row was. `findings` compares it with what can be reached at all (reachable.ts).
 */
export class Coverage {
  private readonly counts = new Map<string, number>();
  private readonly totals: Record<Effect, number> = { applied: 0, ignored: 0, refused: 0 };

  /** `before` is the run as the event found it. */
  note(event: RunEvent, before: RunState, decision: Exclude<Decision, { kind: 'needs' }>): void {
    const effect = decision.kind;
    this.totals[effect] += 1;
    this.count(runCell(event.type, before.status, effect));
    if (decision.kind !== 'refused' && decision.report !== undefined) this.count(reportCell(decision.report));
    if (!('taskId' in event)) return;
    const task = before.tasks.get(event.taskId);
    if (task !== undefined) this.count(taskCell(event.type, rowKindOf(task), effect));
  }

  get events(): number {
    return this.totals.applied + this.totals.ignored + this.totals.refused;
  }

  /** Share of events that were stale. Of no events, all. */
  get ignoredShare(): number {
    return this.events === 0 ? 1 : this.totals.ignored / this.events;
  }

  /** What is wrong with these histories; empty = they have been everywhere, and nowhere that cannot be. */
  findings(): readonly string[] {
    const found: string[] = [];
    const expected = expectedCells();
    for (const cell of expected) if (!this.counts.has(cell)) found.push(`never reached: ${cell}`);
    for (const cell of this.counts.keys()) if (!expected.has(cell)) found.push(`cannot be, but was: ${cell}`);
    if (this.ignoredShare > MOST_IGNORED) found.push(`${percent(this.ignoredShare)} of the events were ignored`);
    return found;
  }

  /** One line an event; A = applied, I = ignored, R = refused; `-` = cannot be, `!` = can be and was not. */
  table(): string {
    const { applied, ignored, refused } = this.totals;
    return [
      `${this.events} events: ${applied} applied, ${ignored} ignored (${percent(this.ignoredShare)}), ${refused} refused`,
      grid(REACHABLE, RUN_STATUSES, (event, status, effect) => this.counts.get(runCell(event, status, effect))),
      grid(REACHABLE_ON_TASKS, TASK_ROWS, (event, row, effect) => this.counts.get(taskCell(event, row, effect))),
      `reports: ${REPORT_OUTCOMES.map((outcome) => `${outcome} ${this.counts.get(reportCell(outcome)) ?? '!'}`).join(', ')}`,
    ].join('\n\n');
  }

  private count(cell: string): void {
    this.counts.set(cell, (this.counts.get(cell) ?? 0) + 1);
  }
}

export function rowKindOf(task: TaskState): TaskRowKind {
  if (task.cutOff) return 'step cut off';
  return `${task.kind === 'forward' ? 'step' : 'undo'} ${task.status}`;
}

function expectedCells(): ReadonlySet<string> {
  const cells = new Set<string>(REPORT_OUTCOMES.map(reportCell));
  addCells(cells, REACHABLE, RUN_STATUSES, runCell);
  addCells(cells, REACHABLE_ON_TASKS, TASK_ROWS, taskCell);
  return cells;
}

function addCells<Row extends string, Column extends string>(
  cells: Set<string>,
  reachable: Readonly<Record<Row, Partial<Record<Column, Effects>>>>,
  columns: readonly Column[],
  cellOf: (row: Row, column: Column, effect: Effect) => string,
): void {
  for (const row of keysOf(reachable)) {
    for (const column of columns) {
      const effects = reachable[row][column] ?? '';
      for (const effect of EFFECTS) if (effects.includes(LETTERS[effect])) cells.add(cellOf(row, column, effect));
    }
  }
}

function runCell(event: RunEvent['type'], status: RunStatus, effect: Effect): string {
  return `${event} × ${status} → ${effect}`;
}

function taskCell(event: TaskEventType, row: TaskRowKind, effect: Effect): string {
  return `${event} × ${row} → ${effect}`;
}

function reportCell(outcome: ReportOutcome): string {
  return `report → ${outcome}`;
}

function grid<Row extends string, Column extends string>(
  reachable: Readonly<Record<Row, Partial<Record<Column, Effects>>>>,
  columns: readonly Column[],
  count: (row: Row, column: Column, effect: Effect) => number | undefined,
): string {
  const lines = keysOf(reachable).map((row) => [
    row,
    ...columns.map((column) => {
      const effects = reachable[row][column] ?? '';
      const parts = EFFECTS.filter((effect) => effects.includes(LETTERS[effect]) || count(row, column, effect));
      return parts.map((effect) => `${LETTERS[effect]}${count(row, column, effect) ?? '!'}`).join(' ') || '-';
    }),
  ]);
  return aligned([['', ...columns], ...lines]);
}

function aligned(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]?.map((_cell, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function keysOf<Key extends string>(record: Readonly<Record<Key, unknown>>): readonly Key[] {
  return Object.keys(record) as Key[];
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
