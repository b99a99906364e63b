import {
  completedReport,
  engineOn,
  failedReport,
  NAMESPACE,
  openTasks,
  publish,
} from '@baton/storage-postgres/testing';
import { createDatabase } from '@baton/testkit';
import { randomUUID } from 'node:crypto';
import { Client, Pool } from 'pg';
import { examine, type DoctorReport } from './index.js';
import { saga } from './testing/healthy.js';

const RUNS = 80;

/** Two engines that drive runs through successes, failures, undos, waits, cancels and retries, each as it comes. */
class Workload {
  private readonly pool: Pool;
  private readonly engines: readonly ReturnType<typeof engineOn>[];
  events = 0;

  constructor(url: string) {
    this.pool = new Pool({ connectionString: url, max: 4 });
    this.engines = [engineOn(url), engineOn(url, { limits: { cachedStateBytes: 0 } })];
  }

  async drive(runs: number): Promise<void> {
    const lines = Array.from({ length: 10 }, (_line, line) => this.line(Math.ceil(runs / 10), line));
    await Promise.all(lines);
  }

  async close(): Promise<void> {
    await Promise.all(this.engines.map((engine) => engine.close()));
    await this.pool.end();
  }

  private async line(runs: number, line: number): Promise<void> {
    for (let n = 0; n < runs; n += 1) await this.run((line + n) % 4, `${line}-${n}`);
  }

  private async run(story: number, key: string): Promise<void> {
    const { engine } = this.engines[story % 2]!;
    const keys = { idempotencyKey: key, businessKey: key };
    const { runId } = await engine.start({ namespace: NAMESPACE, definitionId: 'saga', input: '{"n":1}', ...keys });
    await this.step(runId, 'complete');
    if (story === 0) {
      await engine.cancel({ namespace: NAMESPACE, runId, requestId: randomUUID(), reason: 'asked' });
      return this.step(runId, 'complete');
    }
    await this.step(runId, 'complete');
    const signal = { namespace: NAMESPACE, runId, name: 'go', payload: '1', signalId: randomUUID() };
    await engine.signal(signal);
    await this.step(runId, story === 1 ? 'complete' : 'fail');
    if (story === 1) return;
    await this.step(runId, story === 2 ? 'complete' : 'fail');
    await this.step(runId, 'complete');
    if (story === 3) await engine.retryCompensation({ namespace: NAMESPACE, runId, requestId: randomUUID() });
  }

  private async step(runId: string, what: 'complete' | 'fail'): Promise<void> {
    const one = { query: async (sql: string) => (await this.pool.query(`${sql} AND run_id = '${runId}'`)).rows };
    const [task] = (await openTasks(one)).get(runId) ?? [];
    if (task === undefined) throw new Error(`run ${runId} has no open task`);
    const call = { namespace: NAMESPACE, runId, taskId: task.taskId, owner: 'w', ttlMs: 0, wantInput: false };
    await this.engines[0]!.engine.acquire({ ...call, callId: randomUUID() });
    const report = what === 'complete' ? completedReport(runId, task) : failedReport(runId, task);
    await this.engines[1]!.engine.report(report);
    this.events += 1;
  }
}

describe('a doctor beside engines that work', () => {
  it('finds nothing, however often it looks', async () => {
    const { url, drop } = await createDatabase();
    const client = new Client({ connectionString: url });
    await client.connect();
    await publish({ query: async (sql, values) => (await client.query(sql, values)).rows }, saga);
    const workload = new Workload(url);
    const reports: { readonly report: DoctorReport; readonly during: number }[] = [];
    const working = workload.drive(RUNS).then(() => true as const);
    let ended = false;
    while (!ended) {
      const before = workload.events;
      const report = await examine({ databaseUrl: url, pageSize: 20 });
      reports.push({ report, during: workload.events - before });
      ended = await Promise.race([working, Promise.resolve(false)]);
    }
    await workload.close();
    await client.end();
    expect(reports.flatMap(({ report }) => [...report.findings, ...report.unable])).toEqual([]);
    // The runs did change while the doctor looked, at most of its looks.
    expect(reports.filter(({ during }) => during > 0).length).toBeGreaterThan(2);
    expect(reports.at(-1)?.report.examined.runs).toBeGreaterThan(RUNS / 2);
    const last = await examine({ databaseUrl: url });
    expect(last).toMatchObject({ ok: true, examined: { runs: RUNS } });
    await drop();
  }, 180_000);
});
