import type { EngineApi, JournalView, RunPage } from '@baton/engine';
import { Option, type Command } from 'commander';
import type { RunDetailsView } from '../../client/views.js';
import { parsePositive } from '../../io/duration-option.js';
import type { Screen } from '../../io/output.js';
import { detailsText, historyTable, pageText } from '../run/show.js';
import { sagaCommand, withSagas, type SagaOptions } from './saga-command.js';
import { detailsJson, engineStatus, historyView, pageView, SAGA_STATUSES, type SagaStatusLabel } from './views.js';

interface ListOptions extends SagaOptions {
  readonly status?: SagaStatusLabel[];
  readonly saga?: string;
  readonly version?: number;
  readonly businessKey?: string;
  readonly limit: number;
  readonly cursor?: string;
}

interface ShowOptions extends SagaOptions {
  readonly payloads?: true;
  readonly history?: true;
}

const MAX_PAGE = 100;
const MAX_HISTORY_PAGE = 1_000;

export function register(group: Command, screen: Screen): void {
  sagaCommand(group, 'list', 'list runs, newest first')
    .addOption(new Option('--status <status...>', 'only these').choices(SAGA_STATUSES))
    .option('--saga <id>', 'only runs of this saga')
    .option('--version <n>', 'only runs of this version', parsePositive)
    .option('--business-key <key>', 'only runs with this key')
    .option('--limit <n>', 'how many at most', parsePositive, 50)
    .option('--cursor <cursor>', 'go on where a list ended')
    .action((options: ListOptions) => list(options, screen));
  sagaCommand(group, 'show <run>', 'show a run and its steps')
    .option('--payloads', 'inputs and outputs too')
    .option('--history', 'everything that happened to it, in order')
    .action((runId: string, options: ShowOptions) => show(runId, options, screen));
}

async function list(options: ListOptions, screen: Screen): Promise<void> {
  const page = pageView(await withSagas(options, (engine) => collect(engine, options)));
  screen.out(options.output === 'json' ? `${JSON.stringify(page)}\n` : pageText(page, 'SAGA'));
}

/** Page by page up to the limit. */
async function collect(engine: EngineApi, options: ListOptions): Promise<RunPage> {
  const { namespace, saga, version, businessKey, status, limit } = options;
  const runs: RunPage['runs'][number][] = [];
  let cursor = options.cursor;
  do {
    const page: RunPage = await engine.listRuns({
      namespace,
      pageSize: Math.min(MAX_PAGE, limit - runs.length),
      ...(saga !== undefined && { definitionId: saga }),
      ...(version !== undefined && { definitionVersion: version }),
      ...(businessKey !== undefined && { businessKey }),
      ...(status !== undefined && { statuses: status.map(engineStatus) }),
      ...(cursor !== undefined && { cursor }),
    });
    runs.push(...page.runs);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && runs.length < limit);
  return { runs, nextCursor: cursor ?? null };
}

async function show(runId: string, options: ShowOptions, screen: Screen): Promise<void> {
  const { namespace, payloads = false, history = false } = options;
  const { details, entries } = await withSagas(options, async (engine) => ({
    details: await engine.getRun(namespace, runId, payloads),
    entries: history ? await readHistory(engine, namespace, runId) : [],
  }));
  const text = detailsJson(details);
  const past = historyView(entries);
  if (options.output === 'json') {
    screen.out(`${history ? `${text.slice(0, -1)},"history":${JSON.stringify(past)}}` : text}\n`);
    return;
  }
  screen.out(detailsText(text, JSON.parse(text) as RunDetailsView));
  if (history) screen.out(`\n${historyTable(past)}`);
}

async function readHistory(engine: EngineApi, namespace: string, runId: string): Promise<readonly JournalView[]> {
  const entries: JournalView[] = [];
  for (;;) {
    const page = await engine.history(namespace, runId, entries.at(-1)?.seq ?? 0, MAX_HISTORY_PAGE);
    entries.push(...page);
    if (page.length < MAX_HISTORY_PAGE) return entries;
  }
}
