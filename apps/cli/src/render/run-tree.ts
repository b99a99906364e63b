import type { HistoryEntryView, NodeOutline, RunView, TaskView } from '../client/views.js';
import { visibleOnOneLine } from '../io/visible.js';
import { durationBetween } from './duration.js';
import { arrange, type TreeItem } from './node-tree.js';
import { markOf, paint } from './status-marks.js';

export interface RunTreeInput {
  readonly run: RunView;
  readonly tasks: readonly TaskView[];
  /** The newest entries are shown below the tree. */
  readonly history?: readonly HistoryEntryView[];
  /** The definition's graph; without it nodes stand in the order in which they began. */
  readonly nodes?: readonly NodeOutline[];
}

export interface RunTreeOptions {
  /** Milliseconds since 1970: what has not ended lasts until now. */
  readonly now: number;
  readonly colour?: boolean;
  /** Longer lines are cut (a live tree must know how many lines it has drawn). */
  readonly width?: number;
  /** How many history entries to show; 0 when not given. */
  readonly recent?: number;
}

/** One run as a tree of its nodes, then what is undone, then what happened last. Pure: the caller prints. */
export function renderRunTree(input: RunTreeInput, options: RunTreeOptions): string[] {
  const pen = new Pen(options);
  const forward = latestTasks(input.tasks, 'forward');
  const undo = latestTasks(input.tasks, 'compensate');
  const items = arrange(input.nodes ?? outlineOf(forward));
  const rows = byNode(forward);
  const lines = [pen.headline(input.run)];
  const more = undo.length > 0;
  items.forEach((item, index) => {
    lines.push(...pen.node(item, rows, { prefix: '', last: index === items.length - 1 && !more }));
  });
  if (more) lines.push(...pen.undo(undo));
  const entries = input.history ?? [];
  const recent = options.recent ?? 0;
  if (recent > 0) lines.push(...entries.slice(-recent).map((entry) => pen.entry(entry)));
  return lines.map((line) => cut(line, options.width));
}

/** A retried run has older generations of a node beside the one that counts. */
function latestTasks(tasks: readonly TaskView[], kind: string): TaskView[] {
  const latest = new Map<string, TaskView>();
  for (const task of tasks) {
    if (task.kind !== kind) continue;
    const key = `${task.nodeId}/${task.item}`;
    const known = latest.get(key);
    if (known === undefined || task.generation >= known.generation) latest.set(key, task);
  }
  return [...latest.values()].sort(
    (a, b) => compare(a.createdAt, b.createdAt) || compare(a.taskId, b.taskId) || a.item - b.item,
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function outlineOf(tasks: readonly TaskView[]): NodeOutline[] {
  return [...new Set(tasks.map((task) => task.nodeId))].map((id) => ({ id, type: 'task', after: [] }));
}

type TasksByNode = ReadonlyMap<string, readonly TaskView[]>;

function byNode(tasks: readonly TaskView[]): TasksByNode {
  return Map.groupBy(tasks, (task) => task.nodeId);
}

interface Place {
  readonly prefix: string;
  readonly last: boolean;
}

class Pen {
  constructor(private readonly options: RunTreeOptions) {}

  headline(run: RunView): string {
    const lasted = durationBetween(run.startedAt, run.endedAt, this.options.now);
    const parts = [
      `${run.definitionId} v${run.definitionVersion}`,
      run.runId,
      this.status(run.status),
      lasted,
      run.epoch > 1 ? `epoch ${run.epoch}` : '',
      run.businessKey === null ? '' : `key ${visibleOnOneLine(run.businessKey)}`,
      run.failure === null ? '' : this.failure(run.failure),
      run.stuckReason === null ? '' : `stuck: ${visibleOnOneLine(run.stuckReason)}`,
    ];
    return parts.filter((part) => part !== '').join('  ');
  }

  node(item: TreeItem, tasks: TasksByNode, place: Place): string[] {
    const rows = tasks.get(item.node.id) ?? [];
    const joins = item.joins.length === 0 ? '' : `after ${item.joins.join(', ')}`;
    const texts =
      rows.length === 0 ? [this.notStarted(item.node)] : rows.map((task) => this.task(task, rows.length > 1));
    const lines = texts.map((text, index) => {
      const last = place.last && index === texts.length - 1;
      return `${place.prefix}${last ? '└─' : '├─'} ${text}${joins === '' ? '' : `  ${joins}`}`;
    });
    const inner = `${place.prefix}${place.last ? '   ' : '│  '}`;
    const children = item.children.flatMap((child, index) =>
      this.node(child, tasks, { prefix: inner, last: index === item.children.length - 1 }),
    );
    return [...lines, ...children];
  }

  undo(tasks: readonly TaskView[]): string[] {
    const rows = byNode(tasks);
    const lines = tasks.map((task, index) => {
      const last = index === tasks.length - 1;
      return `   ${last ? '└─' : '├─'} ${this.task(task, (rows.get(task.nodeId) ?? []).length > 1)}`;
    });
    return [`└─ ${paint('undo', 'yellow', this.colour)}`, ...lines];
  }

  entry(entry: HistoryEntryView): string {
    const parts = [
      `${String(entry.seq).padStart(4)}  ${entry.at}`,
      entry.kind.padEnd(24),
      entry.nodeId === null ? '' : entry.nodeId,
      entry.taskKind === 'compensate' ? '(undo)' : '',
      entry.attempt === null ? '' : `attempt ${entry.attempt}`,
      visibleOnOneLine(entry.code ?? ''),
      visibleOnOneLine(entry.detail ?? ''),
    ];
    return paint(
      parts
        .filter((part) => part !== '')
        .join('  ')
        .trimEnd(),
      'dim',
      this.colour,
    );
  }

  private task(task: TaskView, manyItems: boolean): string {
    const { symbol, colour } = markOf(task.status);
    const name = manyItems ? `${task.nodeId}[${task.item}]` : task.nodeId;
    const parts = [
      `${paint(symbol, colour, this.colour)} ${name.padEnd(12)}`,
      this.status(task.status),
      task.attempt > 1 ? `attempt ${task.attempt}` : '',
      task.status === 'PLANNED' ? '' : durationBetween(task.createdAt, task.settledAt, this.options.now),
      task.leaseOwner === null ? '' : `on ${visibleOnOneLine(task.leaseOwner)}`,
      task.unknownOutcome ? 'outcome unknown' : '',
      // What failed on the way to a success is history.
      task.failure === null || task.status === 'SUCCEEDED' ? '' : this.failure(task.failure),
    ];
    return parts.filter((part) => part !== '').join('  ');
  }

  private notStarted(node: NodeOutline): string {
    return `${paint('·', 'dim', this.colour)} ${paint(node.id, 'dim', this.colour)}`;
  }

  private status(status: string): string {
    return paint(status, markOf(status).colour, this.colour);
  }

  private failure({ code, message }: { code: string; message: string }): string {
    return visibleOnOneLine(message === '' || message === code ? code : `${code}: ${firstLine(message)}`);
  }

  private get colour(): boolean {
    return this.options.colour ?? false;
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

// Colours are control characters, and have no width.
const colourCode = /\u001b\[[0-9;]*m/g;

function cut(line: string, width: number | undefined): string {
  if (width === undefined || line.replace(colourCode, '').length <= width) return line;
  return `${line.replace(colourCode, '').slice(0, Math.max(0, width - 1))}…`;
}
