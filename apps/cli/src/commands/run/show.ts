import { Option, type Command } from 'commander';
import { segment } from '../../client/gateway.js';
import type {
  HistoryEntryView,
  HistoryPageView,
  RunDetailsView,
  RunPageView,
  RunView,
  TaskView,
} from '../../client/views.js';
import { parsePositive } from '../../io/duration-option.js';
import { formatFields, formatTable, type Screen } from '../../io/output.js';
import { sliceOf } from '../../io/slice.js';
import { visibleOnOneLine } from '../../io/visible.js';
import { durationBetween } from '../../render/duration.js';
import { clientCommand, openSession, print, type ClientOptions, type Session } from '../client-command.js';

const statuses = [
  'RUNNING',
  'COMPENSATING',
  'SUCCEEDED',
  'FAILED',
  'COMPENSATED',
  'COMPENSATION_FAILED',
  'EXPIRED',
  'CANCELLED',
];
const maxPageSize = 100;

interface ListOptions extends ClientOptions {
  readonly status?: string[];
  readonly definition?: string;
  readonly version?: number;
  readonly businessKey?: string;
  readonly limit: number;
  readonly cursor?: string;
}

export function register(run: Command, screen: Screen): void {
  clientCommand(run, 'show <run>', 'show a run and its tasks')
    .option('--payloads', 'inputs and outputs too')
    .action((runId: string, options: ClientOptions & { payloads?: boolean }) => show(runId, options, screen));
  clientCommand(run, 'list', 'list runs, newest first')
    .addOption(new Option('--status <status...>', 'only these').choices(statuses))
    .option('--definition <id>', 'only runs of this definition')
    .option('--version <n>', 'only runs of this version', parsePositive)
    .option('--business-key <key>', 'only runs with this key')
    .option('--limit <n>', 'how many at most', parsePositive, 50)
    .option('--cursor <cursor>', 'go on where a list ended')
    .action((options: ListOptions) => list(options, screen));
  clientCommand(run, 'history <run>', 'everything that happened to a run, in order')
    .option('--after <seq>', 'only entries after this one', Number, 0)
    .action((runId: string, options: ClientOptions & { after: number }) => history(runId, options, screen));
}

async function show(
  runId: string,
  options: ClientOptions & { readonly payloads?: boolean },
  screen: Screen,
): Promise<void> {
  const session = openSession(options, screen);
  const answer = await session.gateway.call<RunDetailsView>({
    method: 'GET',
    path: `/v1/runs/${segment(runId)}`,
    query: options.payloads === true ? { payloads: true } : {},
  });
  print(session, answer, (view) => detailsText(answer.text, view));
}

/** `text` is the same answer as it came: payloads are cut out of it. */
export function detailsText(text: string, { run, tasks, bufferedSignals }: RunDetailsView): string {
  const signals = bufferedSignals.map(
    (signal) => `signal waiting to be taken: ${visibleOnOneLine(`${signal.name} (${signal.signalId})`)}\n`,
  );
  return `${runFields(run)}\n${taskTable(tasks)}${signals.join('')}${payloadText(text, tasks)}`;
}

export function runFields(run: RunView): string {
  const failure = run.failure;
  return formatFields([
    ['run', run.runId],
    ['definition', `${run.definitionId} version ${run.definitionVersion}`],
    ['status', run.status],
    ['cause', run.cause],
    ['undo', run.compensation === 'NONE' ? null : run.compensation],
    ['epoch', run.epoch > 1 ? run.epoch : null],
    ['failure', failure === null ? null : `${failure.code}: ${failure.message}`],
    ['failed node', failure?.nodeId],
    ['stuck', run.stuckReason],
    ['business key', run.businessKey],
    ['started', run.startedAt],
    ['ended', run.endedAt],
    ['lasted', run.endedAt === null ? null : durationBetween(run.startedAt, run.endedAt, 0)],
  ]);
}

function taskTable(tasks: readonly TaskView[]): string {
  const rows = tasks.map((task) => [
    `${task.nodeId}${task.item === 0 ? '' : `[${task.item}]`}`,
    task.kind === 'compensate' ? 'undo' : '',
    task.status,
    String(task.attempt),
    task.settledAt === null ? '' : durationBetween(task.createdAt, task.settledAt, 0),
    task.leaseOwner ?? '',
    task.failure === null ? '' : `${task.failure.code}: ${task.failure.message.split('\n', 1)[0] ?? ''}`,
  ]);
  return formatTable(['NODE', '', 'STATUS', 'ATTEMPT', 'LASTED', 'WORKER', 'FAILURE'], rows);
}

/** Payloads as raw text: they are the users' bytes. */
function payloadText(text: string, tasks: readonly TaskView[]): string {
  const parts: (readonly [string, string | undefined])[] = [
    ['input', sliceOf(text, ['input'])],
    ...tasks.flatMap((task, index): (readonly [string, string | undefined])[] => {
      const name = `${task.nodeId}${task.kind === 'compensate' ? ' (undo)' : ''}`;
      return [
        [`${name} input`, sliceOf(text, ['tasks', index, 'input'])],
        [`${name} output`, sliceOf(text, ['tasks', index, 'output'])],
      ];
    }),
    ['output', sliceOf(text, ['output'])],
  ];
  const fields = formatFields(parts);
  return fields === '' ? '' : `\n${fields}`;
}

async function list(options: ListOptions, screen: Screen): Promise<void> {
  const session = openSession(options, screen);
  const page = await collect(session, options);
  if (options.output === 'json') {
    screen.out(`${JSON.stringify(page)}\n`);
    return;
  }
  screen.out(pageText(page, 'DEFINITION'));
}

export function pageText({ runs, nextCursor }: RunPageView, heading: 'DEFINITION' | 'SAGA'): string {
  const rows = runs.map((run) => [
    run.runId,
    `${run.definitionId} v${run.definitionVersion}`,
    run.status,
    run.startedAt,
    run.endedAt === null ? '' : durationBetween(run.startedAt, run.endedAt, 0),
    run.businessKey ?? '',
    run.failure?.code ?? '',
  ]);
  const table = formatTable(['RUN', heading, 'STATUS', 'STARTED', 'LASTED', 'KEY', 'FAILURE'], rows);
  return nextCursor === undefined ? table : `${table}more: --cursor ${nextCursor}\n`;
}

/** Page by page up to the limit. Lists hold no payloads, so their JSON may be read and written again. */
async function collect(session: Session, options: ListOptions): Promise<RunPageView> {
  const runs: RunView[] = [];
  let cursor = options.cursor;
  do {
    const { view } = await session.gateway.call<RunPageView>({
      method: 'GET',
      path: '/v1/runs',
      query: {
        status: options.status,
        definitionId: options.definition,
        definitionVersion: options.version,
        businessKey: options.businessKey,
        pageSize: Math.min(maxPageSize, options.limit - runs.length),
        cursor,
      },
    });
    runs.push(...view.runs);
    cursor = view.nextCursor;
  } while (cursor !== undefined && runs.length < options.limit);
  return cursor === undefined ? { runs } : { runs, nextCursor: cursor };
}

async function history(
  runId: string,
  options: ClientOptions & { readonly after: number },
  screen: Screen,
): Promise<void> {
  const session = openSession(options, screen);
  const entries = await fetchHistory(session, runId, options.after);
  if (options.output === 'json') screen.out(`${JSON.stringify({ entries })}\n`);
  else screen.out(historyTable(entries));
}

export async function fetchHistory(session: Session, runId: string, after: number): Promise<HistoryEntryView[]> {
  const entries: HistoryEntryView[] = [];
  let next: number | undefined = after;
  while (next !== undefined) {
    const { view }: { view: HistoryPageView } = await session.gateway.call<HistoryPageView>({
      method: 'GET',
      path: `/v1/runs/${segment(runId)}/history`,
      query: { afterSeq: next, pageSize: 1000 },
    });
    entries.push(...view.entries);
    next = view.nextAfterSeq;
  }
  return entries;
}

export function historyTable(entries: readonly HistoryEntryView[]): string {
  const rows = entries.map((entry) => [
    String(entry.seq),
    entry.at,
    entry.kind,
    entry.nodeId ?? '',
    entry.taskKind === 'compensate' ? 'undo' : '',
    entry.attempt === null ? '' : String(entry.attempt),
    [entry.code, entry.detail].filter((part) => part !== null && part !== '').join(': '),
  ]);
  return formatTable(['SEQ', 'AT', 'WHAT', 'NODE', '', 'ATTEMPT', 'WHY'], rows);
}
