import type { EngineApi, EngineError } from '@baton/engine';
import { completedReport, failedReport, type OpenTask } from './engine-on-postgres.js';
import type { StoreFixture } from './store-fixture.js';
import { NAMESPACE, newRunId } from './writes.js';

/** A caller of one engine, who calls its runs by name, so that two stories can be compared. */
export class Storyteller {
  private readonly runs = new Map<string, string>();

  constructor(
    readonly label: string,
    private readonly engine: EngineApi,
    private readonly fixture: Pick<StoreFixture, 'query'>,
  ) {}

  get runIds(): readonly string[] {
    return [...this.runs.values()];
  }

  idOf(name: string): string {
    return this.runs.get(name) ?? '';
  }

  async start(name: string, more: { definitionId?: string; key?: true; business?: true; ownId?: true } = {}) {
    const runId = more.ownId === true ? newRunId() : undefined;
    const started = await this.engine.start({
      namespace: NAMESPACE,
      definitionId: more.definitionId ?? 'diamond',
      input: `"${name}"`,
      ...(more.key === true && { idempotencyKey: `${this.label} ${name}` }),
      ...(more.business === true && { businessKey: `${this.label} ${name}` }),
      ...(runId !== undefined && { runId }),
    });
    this.runs.set(name, started.runId);
    return [started.created, started.status, runId === undefined || runId === started.runId];
  }

  async report(name: string, nodeId: string, how: 'completed' | 'failed' = 'completed'): Promise<string> {
    const task = this.tasks.get(`${name} ${nodeId}`);
    if (task === undefined) throw new Error(`${name} has no open ${nodeId}`);
    const runId = this.idOf(name);
    return this.engine.report(how === 'completed' ? completedReport(runId, task) : failedReport(runId, task));
  }

  signal(name: string, signalId: string) {
    const call = { namespace: NAMESPACE, runId: this.idOf(name), name: 'go', payload: '1', signalId };
    return this.engine.signal(call);
  }

  cancel(name: string) {
    return this.engine.cancel({ namespace: NAMESPACE, runId: this.idOf(name), requestId: 'stop', reason: 'asked' });
  }

  retry(name: string) {
    return this.engine.retry({ namespace: NAMESPACE, runId: this.idOf(name), requestId: 'again' });
  }

  private readonly tasks = new Map<string, OpenTask>();

  /** Learns what workers would have in their hands by now. */
  async look(): Promise<void> {
    const rows = await this.fixture.query<{ run_id: string; task_id: string; node_id: string; attempt: number }>(
      `SELECT run_id, task_id, node_id, attempt FROM baton.task_instances
       WHERE run_id = ANY ($1) AND status IN ('SCHEDULED', 'BACKOFF')`,
      [this.runIds],
    );
    const names = new Map([...this.runs].map(([name, runId]) => [runId, name]));
    this.tasks.clear();
    for (const row of rows) {
      const task = { taskId: row.task_id, nodeId: row.node_id, attempt: row.attempt };
      this.tasks.set(`${names.get(row.run_id)} ${row.node_id}`, task);
    }
  }

  /** Everything that was stored of the story, without ids and times. */
  async rows(): Promise<unknown> {
    const stored: Record<string, unknown> = {};
    for (const [name, runId] of this.runs) {
      for (const [part, sql] of Object.entries(ROWS)) {
        stored[`${name} ${part}`] = await this.fixture.query(sql, [runId]);
      }
    }
    return JSON.parse(withoutIds(JSON.stringify(stored)).replaceAll(this.label, 'story')) as unknown;
  }
}

/** One call or several at once: what a batch holds. */
export type Step = (teller: Storyteller) => Promise<unknown>;

/** Every way that the engine commits: each step is one commit. */
export const STORY: readonly Step[] = [
  (teller) => teller.start('plain'),
  (teller) => teller.start('keyed', { key: true }),
  (teller) => teller.start('own', { ownId: true, business: true }),
  (teller) => teller.start('both', { key: true, business: true }),
  (teller) => Promise.all(['x', 'y', 'z'].map((name) => teller.start(name))),
  (teller) => teller.start('one', { definitionId: 'single', business: true }),
  (teller) => teller.report('plain', 'top'),
  (teller) => Promise.all(['keyed', 'own', 'x', 'y'].map((name) => teller.report(name, 'top'))),
  (teller) => Promise.all([teller.report('plain', 'left'), teller.report('plain', 'right')]),
  (teller) => teller.signal('plain', 'first'),
  (teller) => teller.report('plain', 'bottom', 'failed'),
  (teller) => teller.cancel('keyed'),
  (teller) => Promise.all([teller.cancel('x'), teller.cancel('y'), teller.cancel('z')]),
  (teller) => teller.report('one', 'only', 'failed'),
  (teller) => teller.retry('one'),
  (teller) => teller.report('one', 'only'),
];

export async function tell(teller: Storyteller, step: Step): Promise<unknown> {
  await teller.look();
  return step(teller).catch((error: EngineError) => `${error.code}: ${error.message}`);
}

function withoutIds(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '#')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '#')
    .replace(/[0-9a-f]{64}/g, '#');
}

const ROWS = {
  run: `SELECT status, cause, undo, epoch, version, journal_seq, outbox_seq, buffered_signals, last_commit,
      failure_code, failure_node, stuck_reason, ended_at IS NOT NULL AS ended
    FROM baton.workflow_runs WHERE run_id = $1`,
  payloads: `SELECT input, output, idempotency_key, business_key FROM baton.run_payloads WHERE run_id = $1`,
  tasks: `SELECT node_id, kind, generation, status, attempt, failures, unknown_outcome, cut_off, settled_seq, input,
      output
    FROM baton.task_instances WHERE run_id = $1 ORDER BY node_id, kind, generation`,
  journal: `SELECT seq, epoch, kind, node_id, task_kind, attempt, code, detail FROM baton.run_journal
    WHERE run_id = $1 ORDER BY seq`,
  outbox: `SELECT run_seq, type, topic, payload FROM baton.outbox WHERE run_id = $1 ORDER BY run_seq, type`,
  signals: `SELECT signal_id, status, seq FROM baton.signals WHERE run_id = $1 ORDER BY seq`,
  timers: `SELECT kind, node_id, generation FROM baton.timers WHERE run_id = $1 ORDER BY kind, node_id`,
  keys: `SELECT kind, key, request_hash FROM baton.run_keys WHERE run_id = $1 ORDER BY kind, key`,
} as const;
