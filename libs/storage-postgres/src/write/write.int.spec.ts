import { randomUUID } from 'node:crypto';
import { FenceMissError, StoreError } from '@baton/engine';
import { MAJORS, storeFixture, type StoreFixture } from '../testing/store-fixture.js';
import {
  acquireCall,
  changedTask,
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
} from '../testing/writes.js';

describe.each(MAJORS)('the write statement on PostgreSQL %i', (major) => {
  let fixture: StoreFixture;

  beforeAll(async () => {
    fixture = await storeFixture(major);
  });
  afterAll(() => fixture.close());

  const versionOf = async (runId: string) => {
    const [row] = await fixture.query<{ version: string }>(
      'SELECT version FROM baton.workflow_runs WHERE run_id = $1',
      [runId],
    );
    return Number(row?.version);
  };
  const countOf = async (table: string, runId: string) => {
    const [row] = await fixture.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM baton.${table} WHERE run_id = $1`,
      [runId],
    );
    return row?.n;
  };

  it('commits every row of a report, and reads back what was written', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const batchId = randomUUID();
    const write = reportWrite(run!);

    const { held } = await fixture.store.write({ batchId, runs: [write] });

    expect([...held]).toEqual([run!.runId]);
    const stored = (await fixture.store.readRuns([refOf(run!.runId)])).get(run!.runId);
    expect(stored?.state).toMatchObject({
      version: 2,
      journalSeq: 3,
      outboxSeq: 2,
      definitionId: 'order',
      route: 'kafka',
    });
    expect([...(stored?.state.tasks.values() ?? [])]).toEqual(write.tasks.map((task) => task.state));
    expect(await countOf('run_journal', run!.runId)).toBe(3);
    expect(
      await fixture.query(
        'SELECT id, type, topic, payload, run_seq, shard, namespace FROM baton.outbox WHERE id = $1',
        [write.outbox[0]!.id],
      ),
    ).toEqual([
      {
        id: write.outbox[0]!.id,
        type: 'task.dispatched',
        topic: 'baton.default.tasks.orders',
        payload: '{"n":1}',
        run_seq: '2',
        shard: 3,
        namespace: 'default',
      },
    ]);
    expect([...(await fixture.store.committedRuns(batchId, [refOf(run!.runId)]))]).toEqual([run!.runId]);
  });

  it('writes nothing of a run that has moved, and all of the others', async () => {
    const runs = await startRuns(fixture.store, 3);
    await fixture.store.write({ batchId: randomUUID(), runs: [runWrite(runs[1]!.runId, 1)] });

    const { held } = await fixture.store.write({ batchId: randomUUID(), runs: runs.map((run) => reportWrite(run)) });

    expect(held).toEqual(new Set([runs[0]!.runId, runs[2]!.runId]));
    expect(await countOf('task_instances', runs[1]!.runId)).toBe(1);
    expect(await countOf('task_instances', runs[2]!.runId)).toBe(2);
  });

  it('never touches a run through another namespace (R28)', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const write = { ...reportWrite(run!), namespace: 'stranger' };
    expect((await fixture.store.write({ batchId: randomUUID(), runs: [write] })).held.size).toBe(0);
    expect(await versionOf(run!.runId)).toBe(1);
    expect((await fixture.store.readRuns([{ namespace: 'stranger', runId: run!.runId }])).size).toBe(0);
  });

  it('skips a run that somebody holds, without waiting for it (R7)', async () => {
    const runs = await startRuns(fixture.store, 2);
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1 FOR NO KEY UPDATE', [runs[0]!.runId]);

    const { held } = await fixture.store.write({ batchId: randomUUID(), runs: runs.map((run) => reportWrite(run)) });

    expect([...held]).toEqual([runs[1]!.runId]);
    await holder.query('ROLLBACK');
  });

  it('leaves no trace of a planted fence miss among 64, names it, and commits the other 63 without it (R1)', async () => {
    const runs = await startRuns(fixture.store, 64);
    const planted = runs[40]!;
    const writes = runs.map((run) =>
      run === planted
        ? runWrite(run.runId, 1, { ...reportWrite(run), tasks: [completedTask({ ...run.task, attempt: 9 })] })
        : reportWrite(run),
    );

    const failed = fixture.store.write({ batchId: randomUUID(), runs: writes });

    await expect(failed).rejects.toThrow(FenceMissError);
    await failed.catch((error: FenceMissError) => expect(error.runIds).toEqual([planted.runId]));
    for (const run of runs) expect(await versionOf(run.runId)).toBe(1);
    const { held } = await fixture.store.write({
      batchId: randomUUID(),
      runs: writes.filter((write) => write.runId !== planted.runId),
    });
    expect(held.size).toBe(63);
    expect(await versionOf(planted.runId)).toBe(1);
    expect(await countOf('task_instances', planted.runId)).toBe(1);
    expect(await countOf('run_journal', planted.runId)).toBe(1);
  });

  it('names every run of several fence misses', async () => {
    const runs = await startRuns(fixture.store, 4);
    const writes = runs.map((run, index) =>
      index % 2 === 0
        ? reportWrite(run)
        : runWrite(run.runId, 1, { tasks: [completedTask({ ...run.task, generation: 7 })] }),
    );
    const error = await fixture.store.write({ batchId: randomUUID(), runs: writes }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(FenceMissError);
    expect(new Set((error as FenceMissError).runIds)).toEqual(new Set([runs[1]!.runId, runs[3]!.runId]));
  });

  it('ends an attempt by time only if the lease is that one and its instant has passed (R9)', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const [granted] = await fixture.store.acquire([acquireCall(run!)]);
    const lost = (leaseId: string, version: number) =>
      fixture.store.write({
        batchId: randomUUID(),
        runs: [
          runWrite(run!.runId, version, {
            tasks: [
              changedTask(
                { ...run!.task, status: 'BACKOFF', losses: 1 },
                { leaseFence: { leaseId, passed: 'lease' }, wake: { kind: 'backoff', ms: 1_000 } },
              ),
            ],
          }),
        ],
      });

    await expect(lost(granted!.leaseId!, 1)).rejects.toThrow(FenceMissError);
    await fixture.moveClock('31 seconds');
    await expect(lost(randomUUID(), 1)).rejects.toThrow(FenceMissError);
    expect((await lost(granted!.leaseId!, 1)).held.size).toBe(1);
    await fixture.moveClock('0 seconds');
    const [row] = await fixture.query('SELECT lease_id, status FROM baton.task_instances WHERE task_id = $1', [
      run!.task.taskId,
    ]);
    expect(row).toEqual({ lease_id: null, status: 'BACKOFF' });
  });

  it('counts durations from the database clock (R27)', async () => {
    await fixture.moveClock('3 days');
    const task = taskState();
    const runId = newRunId();
    await fixture.store.writeStarts({
      batchId: randomUUID(),
      starts: [
        startWrite(
          runId,
          {},
          {
            tasks: [
              dispatchedTask(task, {
                wake: { kind: 'dispatch', deadlines: { ...DEADLINES, scheduleToCloseMs: 60_000 }, lease: null },
              }),
            ],
            timers: [
              {
                timerId: newRunId(),
                kind: 'run-deadline',
                nodeId: null,
                generation: 1,
                afterMs: 5_000,
                from: 'run-start',
              },
            ],
          },
        ),
      ],
    });
    const [row] = await fixture.query(
      `SELECT abs(extract(epoch FROM dispatched_at - clock_timestamp() - interval '3 days')) < 5 AS dispatched,
        extract(epoch FROM redispatch_at - dispatched_at)::int AS redispatch,
        extract(epoch FROM schedule_to_close_at - dispatched_at)::int AS to_close,
        wake_at = schedule_to_close_at AS wakes_first,
        (SELECT extract(epoch FROM t.due_at - r.started_at)::int FROM baton.timers t JOIN baton.workflow_runs r USING (run_id)
          WHERE t.run_id = i.run_id) AS deadline
       FROM baton.task_instances i WHERE task_id = $1`,
      [task.taskId],
    );
    await fixture.moveClock('0 seconds');
    expect(row).toEqual({ dispatched: true, redispatch: 300, to_close: 60, wakes_first: true, deadline: 5 });
  });

  it('sets schedule-to-close once, at the first dispatch of the generation', async () => {
    const [run] = await startRuns(fixture.store, 1, {
      wake: { kind: 'dispatch', deadlines: { ...DEADLINES, scheduleToCloseMs: 60_000 }, lease: null },
    });
    const before = await fixture.query(
      'SELECT schedule_to_close_at AS at FROM baton.task_instances WHERE task_id = $1',
      [run!.task.taskId],
    );
    await fixture.store.write({
      batchId: randomUUID(),
      runs: [
        runWrite(run!.runId, 1, {
          tasks: [
            changedTask(
              { ...run!.task, attempt: 2 },
              {
                fence: { attempt: 1 },
                wake: { kind: 'dispatch', deadlines: { ...DEADLINES, scheduleToCloseMs: 600_000 }, lease: null },
              },
            ),
          ],
        }),
      ],
    });
    expect(
      await fixture.query('SELECT schedule_to_close_at AS at FROM baton.task_instances WHERE task_id = $1', [
        run!.task.taskId,
      ]),
    ).toEqual(before);
  });

  it('counts schedule-to-close anew for an undo that is tried again', async () => {
    const [run] = await startRuns(fixture.store, 1, {
      wake: { kind: 'dispatch', deadlines: { ...DEADLINES, scheduleToCloseMs: 1_000 }, lease: null },
    });
    const deadlines = { ...DEADLINES, scheduleToCloseMs: 60_000, restartScheduleToClose: true } as const;
    const again = { fence: { attempt: 1 }, wake: { kind: 'dispatch', deadlines, lease: null } } as const;
    await fixture.store.write({
      batchId: randomUUID(),
      runs: [runWrite(run!.runId, 1, { tasks: [changedTask({ ...run!.task, attempt: 2 }, again)] })],
    });
    const [row] = await fixture.query(
      `SELECT schedule_to_close_at - dispatched_at = interval '60 seconds' AS anew, wake_at > dispatched_at + interval '1 second' AS later
       FROM baton.task_instances WHERE task_id = $1`,
      [run!.task.taskId],
    );
    expect(row).toEqual({ anew: true, later: true });
  });

  it('takes a lease for a task that it creates, and keeps the route of the run (R29)', async () => {
    const runId = newRunId();
    const first = taskState();
    const lease = { leaseId: randomUUID(), owner: 'here', ttlMs: 10_000 };
    await fixture.store.writeStarts({
      batchId: randomUUID(),
      starts: [
        startWrite(
          runId,
          { route: 'local' },
          {
            tasks: [dispatchedTask(first, { wake: { kind: 'dispatch', deadlines: DEADLINES, lease } })],
          },
        ),
      ],
    });
    const next = taskState({ nodeId: 'charge' });
    await fixture.store.write({
      batchId: randomUUID(),
      runs: [runWrite(runId, 1, { tasks: [completedTask(first), dispatchedTask(next)] })],
    });
    expect(
      await fixture.query(
        `SELECT node_id, route, lease_owner, extract(epoch FROM lease_expires_at - leased_at)::int AS ttl
         FROM baton.task_instances WHERE run_id = $1 ORDER BY node_id`,
        [runId],
      ),
    ).toEqual([
      { node_id: 'charge', route: 'local', lease_owner: null, ttl: null },
      { node_id: 'reserve', route: 'local', lease_owner: null, ttl: null },
    ]);
  });

  it('keeps payload text byte for byte (B67, B69, B70, B74)', async () => {
    const payloads = [
      '[]',
      'null',
      '"str"',
      '[1,2,3]',
      '{"n":9007199254740993,"neg":-9007199254740993,"d":321588685835436831}',
      '{"b":"literal \\\\u0000 text","quote":"\\"","back":"\\\\"}',
      '{ "__proto__": {"admin":true}, "constructor":{"prototype":{"x":1}} }',
      '{"emoji":"\u{1f600}","e":"\u00e9","tab":"\\t", "spaces":   1.0e0}',
      "\"{t,f}','NULL'\"",
    ];
    const tasks = payloads.map((payload, index) => ({ payload, state: taskState({ nodeId: `n${index}` }) }));
    const runId = newRunId();
    await fixture.store.writeStarts({
      batchId: randomUUID(),
      starts: [
        startWrite(
          runId,
          { input: payloads[4]! },
          {
            tasks: tasks.map(({ state, payload }) => dispatchedTask(state, { input: payload })),
            outbox: payloads.map((payload, index) => outboxRow(index + 1, { payload })),
          },
        ),
      ],
    });
    await fixture.store.write({
      batchId: randomUUID(),
      runs: [
        runWrite(runId, 1, {
          tasks: tasks.map(({ state, payload }) => completedTask(state, { output: payload })),
          payloads: { output: payloads[6]! },
        }),
      ],
    });
    const loaded = await fixture.store.readNeeds([
      { ...refOf(runId), needs: { runInput: true, payloads: tasks.map(({ state }) => state.taskId) } },
    ]);
    expect(loaded.get(runId)?.runInput).toBe(payloads[4]);
    for (const { state, payload } of tasks) {
      expect(loaded.get(runId)?.payloads?.get(state.taskId)).toEqual({ input: payload, output: payload });
    }
    const details = await fixture.store.getRun('default', runId, true);
    expect(details?.output).toBe(payloads[6]);
    expect(new Set(details?.tasks.map((task) => task.output))).toEqual(new Set(payloads));
    expect(
      (
        await fixture.query<{ payload: string }>('SELECT payload FROM baton.outbox WHERE run_id = $1 ORDER BY seq', [
          runId,
        ])
      ).map((row) => row.payload),
    ).toEqual(payloads);
  });

  it('leaves input and output as they are when a write does not name them', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const { output: _output, ...untouched } = changedTask(
      { ...run!.task, status: 'BACKOFF' },
      { wake: { kind: 'backoff', ms: 100 } },
    );
    await fixture.store.write({ batchId: randomUUID(), runs: [runWrite(run!.runId, 1, { tasks: [untouched] })] });
    const loaded = await fixture.store.readNeeds([{ ...refOf(run!.runId), needs: { payloads: [run!.task.taskId] } }]);
    expect(loaded.get(run!.runId)?.payloads?.get(run!.task.taskId)).toEqual({ input: '{"n":1}', output: null });
  });

  it('buffers, consumes and expires signals in order of arrival (R32)', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const signal = { name: 'paid', payloadHash: 'h', consumedBy: null };
    await fixture.store.write({
      batchId: randomUUID(),
      runs: [
        runWrite(run!.runId, 1, {
          signals: [
            { ...signal, op: 'insert-buffered', signalId: 'later', payload: '2', seq: 5, expiresInMs: null },
            { ...signal, op: 'insert-buffered', signalId: 'sooner', payload: '1', seq: 4, expiresInMs: null },
            { ...signal, op: 'insert-buffered', signalId: 'gone', payload: '0', seq: 3, expiresInMs: 0 },
            {
              ...signal,
              op: 'insert-consumed',
              signalId: 'direct',
              payload: '3',
              seq: 6,
              expiresInMs: null,
              consumedBy: run!.task.taskId,
            },
          ],
        }),
      ],
    });
    const needs = { signals: ['paid', 'other'], knownSignals: ['direct', 'nobody'] };
    const before = (await fixture.store.readNeeds([{ ...refOf(run!.runId), needs }])).get(run!.runId);
    expect(before?.signals?.get('paid')?.map((found) => found.signalId)).toEqual(['sooner', 'later']);
    expect(before?.signals?.get('other')).toEqual([]);
    expect([...(before?.knownSignals?.keys() ?? [])]).toEqual(['direct']);

    const consume = { ...signal, op: 'consume', payload: null, payloadHash: null, expiresInMs: null, seq: 4 } as const;
    const consumed = (signalId: string, version: number) =>
      fixture.store.write({
        batchId: randomUUID(),
        runs: [runWrite(run!.runId, version, { signals: [{ ...consume, signalId, consumedBy: run!.task.taskId }] })],
      });
    await consumed('sooner', 2);
    // Consumed already: not as the decision saw it.
    await expect(consumed('sooner', 3)).rejects.toThrow(FenceMissError);
    const after = (await fixture.store.readNeeds([{ ...refOf(run!.runId), needs }])).get(run!.runId);
    expect(after?.signals?.get('paid')?.map((found) => found.signalId)).toEqual(['later']);
  });

  it('sets timers and clears them by id, node, kind or all', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const timer = (kind: 'wait-timeout' | 'run-deadline', nodeId: string | null) => ({
      timerId: newRunId(), kind, nodeId, generation: 1, afterMs: 1_000, from: 'now' as const,
    }); // prettier-ignore
    const timers = [
      timer('wait-timeout', 'a'),
      timer('wait-timeout', 'b'),
      timer('wait-timeout', 'c'),
      timer('run-deadline', null),
    ];
    const left = async () =>
      (await fixture.query<{ timer_id: string }>('SELECT timer_id FROM baton.timers WHERE run_id = $1', [run!.runId]))
        .map((row) => timers.findIndex((one) => one.timerId === row.timer_id))
        .sort();
    const clear = (version: number, which: Parameters<typeof runWrite>[2]) =>
      fixture.store.write({ batchId: randomUUID(), runs: [runWrite(run!.runId, version, which)] });

    await clear(1, { timers });
    await clear(2, { clearTimers: [{ scope: 'id', timerId: timers[0]!.timerId }] });
    expect(await left()).toEqual([1, 2, 3]);
    await clear(3, { clearTimers: [{ scope: 'node', nodeId: 'b' }] });
    expect(await left()).toEqual([2, 3]);
    await clear(4, { clearTimers: [{ scope: 'kind', kind: 'run-deadline' }] });
    expect(await left()).toEqual([2]);
    const fresh = timer('wait-timeout', 'd');
    timers.push(fresh);
    await clear(5, { clearTimers: [{ scope: 'all' }], timers: [fresh] });
    expect(await left()).toEqual([4]);
  });

  it('keeps command ids with their run (R24), and the end of a run with its instant', async () => {
    const [run] = await startRuns(fixture.store, 1);
    await fixture.store.write({
      batchId: randomUUID(),
      runs: [
        runWrite(run!.runId, 1, {
          run: {
            ...RUNNING,
            status: 'FAILED',
            cause: 'failure',
            failure: { code: 'X', message: 'broke', nodeId: 'reserve' },
          },
          commands: [{ commandId: 'cancel-1', requestHash: 'h1' }],
        }),
      ],
    });
    const found = await fixture.store.readCommands([
      { ...refOf(run!.runId), commandId: 'cancel-1' },
      { ...refOf(run!.runId), commandId: 'cancel-2' },
    ]);
    expect([...found.entries()]).toEqual([[`${run!.runId}:cancel-1`, { requestHash: 'h1' }]]);
    const stored = (await fixture.store.readRuns([refOf(run!.runId)])).get(run!.runId);
    expect(stored?.state.failure).toEqual({ code: 'X', message: 'broke', nodeId: 'reserve' });
    expect((await fixture.store.getRun('default', run!.runId, false))?.run.endedAt).toBeInstanceOf(Date);
  });

  it('calls what a caller sent and the database cannot store "data" (R8), and goes on', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const bad = fixture.store.write({
      batchId: randomUUID(),
      runs: [runWrite(run!.runId, 1, { journal: [journalRow(2, { detail: 'a\u0000b' })] })],
    });
    await expect(bad).rejects.toMatchObject({ name: 'StoreError', kind: 'data', sqlState: '22021' });
    const badId = fixture.store.readRuns([refOf('not-a-uuid')]);
    await expect(badId).rejects.toBeInstanceOf(StoreError);
    await expect(badId).rejects.toMatchObject({ kind: 'data' });
    expect((await fixture.store.write({ batchId: randomUUID(), runs: [reportWrite(run!)] })).held.size).toBe(1);
  });
});
