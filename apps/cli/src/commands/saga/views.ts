import type { JournalView, ListRuns, RunDetails, RunPage } from '@baton/engine';
import type { HistoryEntryView, RunPageView } from '../../client/views.js';

type EngineRun = RunPage['runs'][number];

/** Statuses as the embedded runtime names them. Labels never change. */
export const SAGA_STATUSES = [
  'running',
  'compensating',
  'succeeded',
  'failed',
  'compensated',
  'expired',
  'compensation_failed',
  'cancelled',
] as const;

export type SagaStatusLabel = (typeof SAGA_STATUSES)[number];

type EngineStatus = NonNullable<ListRuns['statuses']>[number];

export function engineStatus(label: SagaStatusLabel): EngineStatus {
  return label.toUpperCase() as Uppercase<SagaStatusLabel>;
}

/** The same shape as the REST API's, as JSON text. Payloads stay byte for byte. */
export function detailsJson({ run, tasks, bufferedSignals, input, output }: RunDetails): string {
  const taskTexts = tasks.map(({ input: taskInput, output: taskOutput, ...task }) =>
    withRaw(task, { input: taskInput, output: taskOutput }),
  );
  const rest = withRaw({ run: runView(run), bufferedSignals }, { input, output });
  return `${rest.slice(0, -1)},"tasks":[${taskTexts.join(',')}]}`;
}

export function pageView({ runs, nextCursor }: RunPage): RunPageView {
  const page = JSON.stringify({ runs: runs.map(runView), ...(nextCursor !== null && { nextCursor }) });
  return JSON.parse(page) as RunPageView;
}

export function historyView(entries: readonly JournalView[]): readonly HistoryEntryView[] {
  return JSON.parse(JSON.stringify(entries)) as HistoryEntryView[];
}

function runView(run: EngineRun): object {
  return { ...run, status: run.status.toLowerCase() };
}

/** Members that are JSON text already; those that are undefined were not asked for. */
function withRaw(members: object, raw: Readonly<Record<string, string | null | undefined>>): string {
  const texts = Object.entries(raw).flatMap(([name, text]) =>
    text === undefined ? [] : [`"${name}":${text ?? 'null'}`],
  );
  return `${JSON.stringify(members).slice(0, -1)}${texts.map((text) => `,${text}`).join('')}}`;
}
