import { randomUUID } from 'node:crypto';
import { FenceMissError, type NewLease, type RunStartWrite, type RunWrite } from '@baton/engine';
import type { Client } from 'pg';
import { bind, statement, type StatementValues } from '../statements.js';
import { engineSession } from '../testing/plans.js';
import { rowsOf } from '../testing/rows-of.js';
import { MAJORS, storeFixture, type StoreFixture } from '../testing/store-fixture.js';
import {
  completedTask,
  DEADLINES,
  dispatchedTask,
  journalRow,
  newRunId,
  outboxRow,
  refOf,
  reportWrite,
  RUNNING,
  runWrite,
  startRuns,
  startWrite,
  taskState,
  type StartedRun,
} from '../testing/writes.js';
import { encodeStart, encodeStep } from './single.js';

const lease: NewLease = { leaseId: randomUUID(), owner: 'here', ttlMs: 12_000 };
const leased = { wake: { kind: 'dispatch', deadlines: { ...DEADLINES, scheduleToCloseMs: 90_000 }, lease } } as const;
const NEXT = '0b111111-1111-4111-8111-111111111111';

/** Every shape of a report that has a form of its own. */
const REPORTS: Readonly<Record<string, (run: StartedRun) => RunWrite>> = {
  'hands the next task on with its lease': (run) => ({
    ...reportWrite(run),
    tasks: [completedTask(run.task), dispatchedTask(taskState({ taskId: NEXT, nodeId: 'charge' }), leased)],
  }),
  'leaves the next task to whoever claims it': (run) => ({
    ...reportWrite(run),
    tasks: [dispatchedTask(taskState({ taskId: NEXT, nodeId: 'charge' })), completedTask(run.task)],
  }),
  'ends the run with its result and clears its timers': (run) => ({
    ...reportWrite(run),
    run: { ...RUNNING, status: 'SUCCEEDED', journalSeq: 3, outboxSeq: 3 },
    tasks: [completedTask(run.task)],
    outbox: [outboxRow(2), outboxRow(3, { type: 'run.succeeded' })],
    clearTimers: [{ scope: 'all' }],
    payloads: { output: '{"done":true}' },
  }),
  'ends the run by a failure': (run) => {
    const failure = { code: 'NO_STOCK', message: 'none left', nodeId: 'reserve', retryable: false };
    const state = { ...run.task, status: 'FAILED', failures: 1, unknownOutcome: true, failure, settledSeq: 2 } as const;
    return {
      ...reportWrite(run),
      run: { ...RUNNING, status: 'FAILED', cause: 'failure', failure, journalSeq: 3 },
      tasks: [completedTask(run.task, { state: { ...state, reportHash: 'h' }, output: null })],
      journal: [journalRow(2, { kind: 'node.failed', code: 'NO_STOCK', detail: '{"n":1}' }), journalRow(3)],
    };
  },
  'says nothing to others': (run) => ({ ...reportWrite(run), tasks: [completedTask(run.task)], outbox: [] }),
};

const timer = {
  timerId: randomUUID(),
  kind: 'run-deadline',
  nodeId: null,
  generation: 1,
  afterMs: 60_000,
  from: 'run-start',
} as const;
const startRows = (runId: string): Partial<RunWrite> => ({
  tasks: [dispatchedTask(taskState({ taskId: runId.replace(/^./, 'a') }), leased)],
  journal: [journalRow(1, { kind: 'run.started' })],
  outbox: [outboxRow(1, { traceparent: 'tp' })],
});

const STARTS: Readonly<Record<string, (runId: string) => RunStartWrite>> = {
  'leases its first task': (runId) => startWrite(runId, { route: 'local', traceparent: 'tp' }, startRows(runId)),
  'brings a key and sets a deadline': (runId) =>
    startWrite(
      runId,
      { idempotencyKey: `once-${runId}`, startedAtMs: 1_700_000_000_000 },
      { ...startRows(runId), timers: [{ ...timer, timerId: runId }] },
    ),
  'brings a business key': (runId) => startWrite(runId, { businessKey: `order-${runId}` }, startRows(runId)),
};

describe.each(MAJORS)('a write that comes alone, on PostgreSQL %s', (major) => {
  let fixture: StoreFixture;
  beforeAll(async () => {
    fixture = await storeFixture(major);
    await fixture.stopClock();
  });
  afterAll(() => fixture.close());

  /** The rows of a run, told apart from those of its twin by nothing but what must differ. */
  async function twinRows(runId: string): Promise<readonly string[]> {
    const rows = await rowsOf(fixture, [runId]);
    const other = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
    return rows
      .map((row) =>
        row
          .replaceAll(runId.slice(1), 'RUN')
          .replace(/^(\S+) \d+ /, '$1 ')
          .replace(other, 'ID'),
      )
      .map((row) => (row.startsWith('outbox') ? row.replace(/,\d+,\d+\)$/, ')') : row))
      .sort();
  }

  it.each(Object.keys(REPORTS))(
    'R2: a report that %s leaves the rows that the general statement leaves',
    async (shape) => {
      const batchId = randomUUID();
      const [alone, twin, beside] = await startRuns(fixture.store, 3, leased);
      const write = (run: StartedRun | undefined): RunWrite => REPORTS[shape]?.(run as StartedRun) as RunWrite;
      expect(encodeStep({ batchId, runs: [write(alone)] })).not.toBeNull();
      const both = [write(twin), reportWrite(beside as StartedRun)];
      expect((await fixture.store.write({ batchId, runs: [write(alone)] })).held.size).toBe(1);
      expect((await fixture.store.write({ batchId, runs: both })).held.size).toBe(2);
      const rows = await twinRows(alone?.runId ?? '');
      expect(rows.length).toBeGreaterThan(3);
      expect(rows).toEqual(await twinRows(twin?.runId ?? ''));
    },
  );

  it.each(Object.keys(STARTS))(
    'R2: a start that %s leaves the rows that the general statement leaves',
    async (shape) => {
      const batchId = randomUUID();
      const start = (runId: string): RunStartWrite => STARTS[shape]?.(runId) as RunStartWrite;
      const [alone, twin, beside] = [newRunId(), newRunId(), newRunId()] as const;
      expect(encodeStart(batchId, start(alone))).not.toBeNull();
      await fixture.store.writeStarts({ batchId, starts: [start(alone)] });
      await fixture.store.writeStarts({ batchId, starts: [start(twin), startWrite(beside, {}, startRows(beside))] });
      const rows = await twinRows(alone);
      expect(rows.length).toBeGreaterThan(4);
      expect(rows).toEqual(await twinRows(twin));
    },
  );

  it('R1: a fence that misses leaves no trace of the run', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const { runId, task } = run as StartedRun;
    const before = await rowsOf(fixture, [runId]);
    const planted = reportWrite({ runId, task: { ...task, attempt: 2 } });
    const written = fixture.store.write({ batchId: randomUUID(), runs: [planted] });
    await expect(written).rejects.toEqual(new FenceMissError([runId]));
    expect(await rowsOf(fixture, [runId])).toEqual(before);
  });

  it('R1: a result without a row to keep it leaves no trace of the run', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const { runId } = run as StartedRun;
    await fixture.query('DELETE FROM baton.run_payloads WHERE run_id = $1', [runId]);
    const before = await rowsOf(fixture, [runId]);
    const ending =
      REPORTS['ends the run with its result and clears its timers']?.(run as StartedRun) ?? runWrite('', 0);
    const written = fixture.store.write({ batchId: randomUUID(), runs: [ending] });
    await expect(written).rejects.toEqual(new FenceMissError([runId]));
    expect(await rowsOf(fixture, [runId])).toEqual(before);
  });

  it('R1: a run that has moved is not held, and nothing of it is written', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const { runId } = run as StartedRun;
    const before = await rowsOf(fixture, [runId]);
    const { held } = await fixture.store.write({ batchId: randomUUID(), runs: [reportWrite(run as StartedRun, 7)] });
    expect(held.size).toBe(0);
    expect(await rowsOf(fixture, [runId])).toEqual(before);
  });

  it('I14: a run of another namespace is not held', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const foreign = { ...reportWrite(run as StartedRun), namespace: 'other' };
    expect((await fixture.store.write({ batchId: randomUUID(), runs: [foreign] })).held.size).toBe(0);
  });

  it('R7: a run that somebody holds is skipped, not waited for', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1 FOR UPDATE', [run?.runId]);
    const batch = { batchId: randomUUID(), runs: [reportWrite(run as StartedRun)] };
    expect((await fixture.store.write(batch)).held.size).toBe(0);
    await holder.query('ROLLBACK');
    expect((await fixture.store.write(batch)).held.size).toBe(1);
  });

  it('R6: the run row tells which commit wrote it', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const { runId } = run as StartedRun;
    const batchId = randomUUID();
    await fixture.store.write({ batchId, runs: [reportWrite(run as StartedRun)] });
    expect(await fixture.store.committedRuns(batchId, [refOf(runId)])).toEqual(new Set([runId]));
  });

  it('R24: a key that is taken stops the start, and nothing of it is written', async () => {
    const starts = ['first', 'second'].map((requestHash) => {
      const runId = newRunId();
      return startWrite(runId, { idempotencyKey: 'taken', requestHash }, startRows(runId));
    });
    const results = [];
    for (const start of starts) {
      results.push(await fixture.store.writeStarts({ batchId: randomUUID(), starts: [start] }));
    }
    expect(results.map(({ created }) => created.size)).toEqual([1, 0]);
    const second = starts[1]?.write.runId ?? '';
    expect(results[1]?.existing.get(second)).toMatchObject({ reason: 'idempotency-key', requestHash: 'first' });
    expect(await rowsOf(fixture, [second])).toEqual([]);
  });

  describe('R36: what the functions read', () => {
    let session: Client;
    beforeAll(async () => {
      session = await fixture.connect();
      await engineSession(session);
    });

    /** Tables of Baton that this statement reads as a whole, and those of which it reads more than one partition. */
    async function badReads(name: 'write-step' | 'write-start', values: StatementValues): Promise<readonly string[]> {
      await session.query('BEGIN');
      await session.query(bind(statement(name), values));
      const { rows } = await session.query<{ table: string; scans: string; looks: string }>(
        `SELECT regexp_replace(relname, '_(\\d+|default)$', '') AS table, sum(seq_scan) AS scans,
           count(*) FILTER (WHERE idx_scan > 0) AS looks
         FROM pg_stat_xact_user_tables WHERE schemaname = 'baton' GROUP BY 1`,
      );
      await session.query('ROLLBACK');
      expect(rows.length).toBeGreaterThan(3);
      return rows.filter(({ scans, looks }) => Number(scans) > 0 || Number(looks) > 1).map(({ table }) => table);
    }

    const stepValues = async (): Promise<StatementValues> => {
      const [run] = await startRuns(fixture.store, 1);
      const shape = REPORTS['ends the run with its result and clears its timers'];
      const runs = [shape?.(run as StartedRun) ?? runWrite('', 0)];
      return encodeStep({ batchId: randomUUID(), runs }) ?? {};
    };

    it('R36: a report looks each row up by its key, in one partition', async () => {
      expect(await badReads('write-step', await stepValues())).toEqual([]);
    });

    it('R36: a start reads nothing but its key', async () => {
      const runId = newRunId();
      const start = STARTS['brings a key and sets a deadline']?.(runId) ?? startWrite(runId);
      expect(await badReads('write-start', encodeStart(randomUUID(), start) ?? {})).toEqual([]);
    });

    it('R36: this check finds a scan', async () => {
      await session.query(
        'DISCARD PLANS; SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off',
      );
      expect(await badReads('write-step', await stepValues())).toContain('workflow_runs');
    });
  });
});
