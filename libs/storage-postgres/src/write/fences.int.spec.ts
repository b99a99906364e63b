import { randomUUID } from 'node:crypto';
import { single } from '@baton/engine/testing';
import { FenceMissError, type RunWrite, type TimerWrite } from '@baton/engine';
import { completedReport, engineOn, openTasks, publish } from '../testing/engine-on-postgres.js';
import { waitingFor } from '../testing/locks.js';
import { rowsOf } from '../testing/rows-of.js';
import { MAJORS, storeFixture, type StoreFixture } from '../testing/store-fixture.js';
import {
  acquireCall,
  changedTask,
  completedTask,
  dispatchedTask,
  journalRow,
  NAMESPACE,
  outboxRow,
  reportWrite,
  RUNNING,
  runWrite,
  startRuns,
  taskState,
  type StartedRun,
} from '../testing/writes.js';

const oldTimer = (run: StartedRun): TimerWrite => ({
  timerId: run.task.taskId.replace(/^./, 'f'),
  kind: 'wait-timeout',
  nodeId: 'wait',
  generation: 1,
  afterMs: 60_000,
  from: 'now',
});

const signal = { name: 'paid', expiresInMs: null, seq: 2 } as const;

/** What stands before the batch: a timer and a buffered signal beside the task. */
function firstWrite(run: StartedRun): RunWrite {
  return runWrite(run.runId, 1, {
    signals: [
      { ...signal, op: 'insert-buffered', signalId: 'early', payload: '1', payloadHash: 'h', consumedBy: null },
    ],
    timers: [oldTimer(run)],
  });
}

/** One write of a run that touches every kind of row there is. */
function wholeWrite(run: StartedRun): RunWrite {
  const { taskId } = run.task;
  return runWrite(run.runId, 2, {
    run: { ...RUNNING, journalSeq: 2, outboxSeq: 2 },
    tasks: [completedTask(run.task), dispatchedTask(taskState({ taskId: nextTaskId(run), nodeId: 'charge' }))],
    journal: [journalRow(2, { taskId })],
    outbox: [outboxRow(2)],
    signals: [
      { ...signal, op: 'consume', signalId: 'early', payload: null, payloadHash: null, consumedBy: taskId },
      { ...signal, op: 'insert-buffered', signalId: 'late', payload: '2', payloadHash: 'h', consumedBy: null },
    ],
    timers: [{ ...oldTimer(run), timerId: nextTaskId(run) }],
    clearTimers: [{ scope: 'id', timerId: oldTimer(run).timerId }],
    commands: [{ commandId: 'stop', requestHash: 'h' }],
    payloads: { output: '{"done":true}' },
  });
}

/** Made from the run's own id, so that a test can plant a row where the write will insert one. */
function nextTaskId(run: StartedRun): string {
  return run.task.taskId.replace(/^./, 'e');
}

type Planted = readonly [kind: string, raises: 'fence' | 'data', sql: string];

/** What makes one run's rows other than its write expects. $1 = run, $2 = its task, $3 = the row to be inserted. */
const PLANTED: readonly Planted[] = [
  ['a task that has had its attempt', 'fence', 'UPDATE baton.task_instances SET attempt = 2 WHERE task_id = $2'],
  [
    'a task of another generation',
    'fence',
    'UPDATE baton.task_instances SET generation = 2 WHERE run_id = $1 AND task_id = $2',
  ],
  ['a task that is gone', 'fence', 'DELETE FROM baton.task_instances WHERE task_id = $2'],
  [
    'a task that is there already',
    'data',
    `INSERT INTO baton.task_instances (run_id, task_id, namespace, node_id, kind, generation, status, route, created_at)
     VALUES ($1, $3, 'default', 'other', 'forward', 1, 'WAITING', 'kafka', now())`,
  ],
  [
    'the same node under another task id',
    'data',
    `INSERT INTO baton.task_instances (run_id, task_id, namespace, node_id, kind, generation, status, route, created_at)
     VALUES ($1, gen_random_uuid(), 'default', 'charge', 'forward', 1, 'WAITING', 'kafka', now())`,
  ],
  [
    'a timer that is there already',
    'data',
    `INSERT INTO baton.timers (timer_id, run_id, namespace, kind, generation, due_at)
     VALUES ($3, $1, 'default', 'run-deadline', 1, now())`,
  ],
  ['a signal that was consumed', 'fence', `UPDATE baton.signals SET status = 'CONSUMED' WHERE run_id = $1`],
  [
    'a signal that is there already',
    'data',
    `INSERT INTO baton.signals (run_id, signal_id, namespace, name, payload, payload_hash, status, seq, received_at)
     VALUES ($1, 'late', 'default', 'paid', '0', 'h', 'CONSUMED', 1, now())`,
  ],
  [
    'a command id that was used',
    'data',
    `INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at)
     VALUES ('default', 'command', $1 || ':stop', $1::uuid, 'h', now())`,
  ],
  [
    'a journal that is ahead',
    'data',
    `INSERT INTO baton.run_journal (run_id, seq, namespace, epoch, kind, at)
     VALUES ($1, 2, 'default', 1, 'node.failed', now())`,
  ],
  ['payloads that are gone', 'fence', 'DELETE FROM baton.run_payloads WHERE run_id = $1'],
];

describe.each(MAJORS)('the fences of a batch on PostgreSQL %i', (major) => {
  let fixture: StoreFixture;

  beforeAll(async () => {
    fixture = await storeFixture(major);
  });
  afterAll(() => fixture.close());
  afterEach(() => fixture.moveClock('0 seconds'));

  const write = (runs: readonly RunWrite[]) => fixture.store.write({ batchId: randomUUID(), runs });
  const failureOf = (runs: readonly RunWrite[]) => write(runs).then(() => null, (error: unknown) => error); // prettier-ignore
  const idOf = (run: StartedRun) => run.runId;
  const prepared = async (): Promise<readonly StartedRun[]> => {
    const runs = await startRuns(fixture.store, 64);
    expect((await write(runs.map(firstWrite))).held.size).toBe(64);
    return runs;
  };
  const plant = (run: StartedRun, sql: string) => {
    const values = [run.runId, run.task.taskId, nextTaskId(run)];
    // Each statement names what it needs; the rest is of a type that PostgreSQL could not guess.
    const used = values.filter((_value, index) => sql.includes(`$${index + 1}`));
    const renumbered = sql.replace(/\$(\d)/g, (_all, n: string) => `$${used.indexOf(values[Number(n) - 1]!) + 1}`);
    return fixture.query(renumbered, used);
  };

  it.each(PLANTED)(
    'R1: %s, once among 64 runs, raises, and nothing of any of them is written; the other 63 commit without it',
    async (_kind, raises, sql) => {
      const runs = await prepared();
      const victim = runs[40]!;
      const others = runs.filter((run) => run !== victim);
      await plant(victim, sql);
      const before = await rowsOf(fixture, runs.map(idOf));

      const error = await failureOf(runs.map(wholeWrite));

      if (raises === 'fence') expect((error as FenceMissError).runIds).toEqual([victim.runId]);
      else expect(error).toMatchObject({ name: 'StoreError', kind: 'data', sqlState: '23505' });
      expect(await rowsOf(fixture, runs.map(idOf))).toEqual(before);

      const ofVictim = await rowsOf(fixture, [victim.runId]);
      expect((await write(others.map(wholeWrite))).held).toEqual(new Set(others.map(idOf)));
      expect(await rowsOf(fixture, [victim.runId])).toEqual(ofVictim);
      const [done] = await fixture.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM baton.workflow_runs r
         JOIN baton.signals s ON s.run_id = r.run_id AND s.status = 'CONSUMED'
         JOIN baton.timers t ON t.run_id = r.run_id
         JOIN baton.run_keys k ON k.run_id = r.run_id
         WHERE r.run_id = ANY ($1::uuid[]) AND r.version = 3`,
        [others.map(idOf)],
      );
      expect(done?.n).toBe(63);
    },
  );

  it('R1: a run that has moved leaves no trace of its write in any kind of row, and the other 63 commit at once', async () => {
    const runs = await prepared();
    const victim = runs[40]!;
    await plant(victim, 'UPDATE baton.workflow_runs SET version = version + 1 WHERE run_id = $1');
    const before = await rowsOf(fixture, [victim.runId]);

    const { held } = await write(runs.map(wholeWrite));

    expect(held).toEqual(new Set(runs.filter((run) => run !== victim).map(idOf)));
    expect(await rowsOf(fixture, [victim.runId])).toEqual(before);
  });

  it('R1: leases are no fence of a report: one that is granted or renewed in between changes nothing', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const worker = await fixture.connect();
    await worker.query('BEGIN');
    await worker.query(
      `UPDATE baton.task_instances SET lease_id = gen_random_uuid(), lease_expires_at = baton.now() + interval '9 s'
       WHERE task_id = $1`,
      [run!.task.taskId],
    );
    const report = write([reportWrite(run!)]);
    await waitingFor(fixture, 'lock');
    await worker.query('COMMIT');
    expect([...(await report).held]).toEqual([run!.runId]);
  });

  it('R1, R9: of 64 attempts that are ended by time, the one that was renewed is named, and the other 63 end', async () => {
    const runs = await startRuns(fixture.store, 64);
    const leases = await fixture.store.acquire(runs.map((run) => acquireCall(run)));
    const lost = runs.map((run, index) => {
      const leaseFence = { leaseId: leases[index]!.leaseId!, passed: 'lease' } as const;
      const state = { ...run.task, status: 'BACKOFF', losses: 1 } as const;
      return runWrite(run.runId, 1, {
        tasks: [changedTask(state, { leaseFence, wake: { kind: 'backoff', ms: 1_000 } })],
      });
    });
    const renewed = runs[11]!;
    await fixture.moveClock('20 seconds');
    const beat = { namespace: NAMESPACE, ...renewed, taskId: renewed.task.taskId, attempt: 1, ttlMs: 0 };
    expect(await fixture.store.heartbeat([{ ...beat, leaseId: leases[11]!.leaseId! }])).toMatchObject([
      { status: 'OK' },
    ]);
    await fixture.moveClock('31 seconds');
    const before = await rowsOf(fixture, runs.map(idOf));

    const error = await failureOf(lost);

    expect(error).toBeInstanceOf(FenceMissError);
    expect((error as FenceMissError).runIds).toEqual([renewed.runId]);
    expect(await rowsOf(fixture, runs.map(idOf))).toEqual(before);
    expect((await write(lost.filter(({ runId }) => runId !== renewed.runId))).held.size).toBe(63);
  });

  it('R1: a write that names a task of another run finds nothing, whatever the task is', async () => {
    const [one, two] = await startRuns(fixture.store, 2);
    const error = await failureOf([runWrite(one!.runId, 1, { tasks: [completedTask(two!.task)] })]);
    expect((error as FenceMissError).runIds).toEqual([one!.runId]);
  });
});

describe('an engine whose batch of 64 meets a row that is not as it knows it', () => {
  it('R1: drops that run by name, commits the other 63, and leaves no trace of it', async () => {
    const fixture = await storeFixture(18);
    await publish(fixture, single);
    const failures: string[] = [];
    const { engine, close } = engineOn(fixture.url, { hooks: { onStoreError: ({ kind }) => failures.push(kind) } });
    try {
      const command = { namespace: NAMESPACE, definitionId: 'single', input: '1' };
      const started = await Promise.all(Array.from({ length: 64 }, () => engine.start(command)));
      const open = await openTasks(fixture);
      const victim = started[20]!.runId;
      // Without the version: the state that the engine has cached is still the one that it writes on.
      await fixture.query('UPDATE baton.task_instances SET attempt = 5 WHERE run_id = $1', [victim]);
      const before = await rowsOf(fixture, [victim]);
      const answers = await Promise.all(
        started.map(({ runId }) => engine.report(completedReport(runId, open.get(runId)![0]!))),
      );
      // Read anew, alone: the report is of an older attempt by now.
      expect(answers).toEqual(started.map(({ runId }) => (runId === victim ? 'STALE' : 'APPLIED')));
      expect(failures).toEqual(['fence-miss']);
      expect(await rowsOf(fixture, [victim])).toEqual(before);
    } finally {
      await close();
      await fixture.close();
    }
  });
});
