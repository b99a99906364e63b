import type { TaskState } from '@baton/core';
import { FenceMissError, type LockedSession, type RunRef, type RunWrite, type Store } from '../ports.js';
import { describeClaims } from './store-suite-claims.js';
import { dispatched, ended, journalRow, outboxRow, runWrite, runningRow, startWrite, taskState } from './writes.js';

/** A store of its own for one test, and what a test must do beside the port. */
export interface StoreUnderTest {
  readonly store: Store;
  /** A UUIDv7 of about now, which the store's partitions hold. */
  newId(): string;
  /** Moves the clock of the store. */
  advance(ms: number): Promise<void>;
  outbox(runId: string): Promise<readonly { readonly runSeq: number; readonly payload: string }[]>;
  close(): Promise<void>;
}

interface Started extends RunRef {
  readonly task: TaskState;
}

/** The contract of `Store`, for every implementation: what the engine's own proofs stand on. */
export function describeStore(name: string, makeStore: () => Promise<StoreUnderTest>): void {
  describe(`${name} keeps the contract of a store`, () => {
    let made: StoreUnderTest;
    const at = (): Tested => new Tested(made);

    beforeAll(async () => {
      made = await makeStore();
    });
    afterAll(() => made.close());

    describeStarts(at);
    describeWrites(at);
    describeLocks(at);
    describeLeases(at);
    describeClaims(() => made);
    describeNeeds(at);
  });
}

/** Shorthands over one store. */
class Tested {
  readonly store: Store;

  constructor(readonly made: StoreUnderTest) {
    this.store = made.store;
  }

  async start(over: Parameters<typeof startWrite>[1] = {}, write: Partial<RunWrite> = {}): Promise<Started> {
    const runId = this.made.newId();
    const task = taskState(this.made.newId());
    const parts = {
      tasks: [dispatched(task)],
      journal: [journalRow(1, 'run.started')],
      outbox: [outboxRow(this.made.newId(), 1)],
    };
    const starts = [startWrite(runWrite(runId, 0, { ...parts, ...write }), over)];
    const { created } = await this.store.writeStarts({ batchId: this.made.newId(), starts });
    expect([...created]).toEqual([runId]);
    return { namespace: 'default', runId, task };
  }

  report(run: Started, expectedVersion = 1): RunWrite {
    const next = taskState(this.made.newId(), { nodeId: 'charge' });
    return runWrite(run.runId, expectedVersion, {
      run: { ...runningRow, journalSeq: 2, outboxSeq: 2 },
      tasks: [ended(run.task), dispatched(next)],
      journal: [journalRow(2)],
      outbox: [outboxRow(this.made.newId(), 2)],
    });
  }

  async write(...runs: readonly RunWrite[]): Promise<string[]> {
    return [...(await this.store.write({ batchId: this.made.newId(), runs })).held];
  }

  async versionOf(run: RunRef): Promise<number | undefined> {
    return (await this.store.readRuns([run])).get(run.runId)?.state.version;
  }

  acquire(run: Started, over: Partial<Parameters<Store['acquire']>[0][number]> = {}) {
    const { namespace, runId, task } = run;
    const call = {
      namespace,
      runId,
      taskId: task.taskId,
      attempt: 1,
      owner: 'w',
      callId: 'c',
      ttlMs: 0,
      wantInput: false,
    };
    return this.store.acquire([{ ...call, ...over }]).then(([answer]) => answer);
  }
}

function describeStarts(at: () => Tested): void {
  it('keeps a run with its tasks, and reads it as it was written', async () => {
    const t = at();
    const run = await t.start({ traceparent: '00-aa-bb-01' });
    const stored = (await t.store.readRuns([run])).get(run.runId);
    expect(stored?.state).toMatchObject({
      runId: run.runId,
      namespace: 'default',
      definitionId: 'order',
      version: 1,
      epoch: 1,
    });
    expect([...(stored?.state.tasks.values() ?? [])]).toEqual([run.task]);
    expect([stored?.leaseIds.size, stored?.traceparent]).toEqual([0, '00-aa-bb-01']);
    expect((await t.made.outbox(run.runId)).map(({ runSeq }) => runSeq)).toEqual([1]);
  });

  it('shows nothing of a run to another namespace (I14)', async () => {
    const t = at();
    const run = await t.start();
    const theirs = { namespace: 'other', runId: run.runId };
    expect((await t.store.readRuns([theirs])).size).toBe(0);
    expect((await t.store.statuses([theirs])).size).toBe(0);
    expect(await t.store.getRun('other', run.runId, true)).toBeUndefined();
    expect(await t.store.history('other', run.runId, 0, 10)).toEqual([]);
    expect(await t.acquire(run, { namespace: 'other' })).toMatchObject({ status: 'NOT_YET' });
    expect(await t.write({ ...t.report(run), namespace: 'other' })).toEqual([]);
    expect(await t.store.withLockedRuns([theirs], (session) => Promise.resolve(session.runs.size))).toBe(0);
  });

  it('makes one run for a key, and says what stands in the way of the second (R24)', async () => {
    const t = at();
    const key = t.made.newId();
    const first = await t.start({ idempotencyKey: key, requestHash: 'h1' });
    const again = t.made.newId();
    const starts = [startWrite(runWrite(again, 0), { idempotencyKey: key, requestHash: 'h2' })];
    const result = await t.store.writeStarts({ batchId: t.made.newId(), starts });
    expect(result.created.size).toBe(0);
    expect(result.existing.get(again)).toMatchObject({
      reason: 'idempotency-key',
      runId: first.runId,
      requestHash: 'h1',
    });
    expect(await t.versionOf({ namespace: 'default', runId: again })).toBeUndefined();
  });

  it('compares a run id of the caller with the run that has it', async () => {
    const t = at();
    const first = await t.start({ clientRunId: true, requestHash: 'h1' });
    const starts = [startWrite(runWrite(first.runId, 0), { clientRunId: true, requestHash: 'h1' })];
    const result = await t.store.writeStarts({ batchId: t.made.newId(), starts });
    expect(result.existing.get(first.runId)).toMatchObject({ reason: 'run-id', runId: first.runId, requestHash: 'h1' });
  });

  it('gives a business key on when its run has ended, and back under lock (R24)', async () => {
    const t = at();
    const businessKey = t.made.newId();
    const first = await t.start({ businessKey });
    const second = t.made.newId();
    const starts = [startWrite(runWrite(second, 0), { businessKey })];
    const refused = await t.store.writeStarts({ batchId: t.made.newId(), starts });
    expect(refused.existing.get(second)).toMatchObject({
      reason: 'business-key',
      runId: first.runId,
      status: 'RUNNING',
    });
    const failed = { ...runningRow, status: 'FAILED', cause: 'failure' } as const;
    expect(await t.write(runWrite(first.runId, 1, { run: failed, tasks: [ended(first.task)] }))).toEqual([first.runId]);
    expect((await t.store.writeStarts({ batchId: t.made.newId(), starts })).created.size).toBe(1);
    const holderOf = (take: boolean): Promise<unknown> =>
      t.store.withLockedRuns(
        [first],
        async (session) => {
          if (take) await session.takeKeys([first]);
          return session.keyHolders.get(first.runId);
        },
        { keysFirst: true },
      );
    expect(await holderOf(false)).toEqual({ runId: second, status: 'RUNNING' });
    await holderOf(true);
    expect(await holderOf(false)).toBeUndefined();
  });
}

function describeWrites(at: () => Tested): void {
  it('writes the runs whose version is the expected one, and names them; nothing of the others (ADR 0001)', async () => {
    const t = at();
    const [current, moved] = [await t.start(), await t.start()];
    expect(await t.write(t.report(current), t.report(moved, 7))).toEqual([current.runId]);
    expect([await t.versionOf(current), await t.versionOf(moved)]).toEqual([2, 1]);
    expect((await t.store.history('default', moved.runId, 0, 10)).length).toBe(1);
    expect(await t.write(t.report(current))).toEqual([]);
  });

  it('leaves nothing of a statement in which a fence misses, and names the run (R1)', async () => {
    const t = at();
    const [good, bad] = [await t.start(), await t.start()];
    const miss = { ...t.report(bad), tasks: [ended(bad.task, { fence: { attempt: 9 } })] };
    const failure = await t.write(t.report(good), miss).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(FenceMissError);
    expect((failure as FenceMissError).runIds).toEqual([bad.runId]);
    expect([await t.versionOf(good), await t.versionOf(bad)]).toEqual([1, 1]);
    expect(await t.write(t.report(good))).toEqual([good.runId]);
  });

  it('says which runs a batch has written (R6)', async () => {
    const t = at();
    const [written, other] = [await t.start(), await t.start()];
    const batchId = t.made.newId();
    await t.store.write({ batchId, runs: [t.report(written)] });
    const absent = { namespace: 'default', runId: t.made.newId() };
    expect([...(await t.store.committedRuns(batchId, [written, other, absent]))]).toEqual([written.runId]);
  });

  it('keeps texts byte for byte, and leaves what a write does not name', async () => {
    const t = at();
    const run = await t.start({ input: '{"a": [ ], "b":1.0}' });
    const backoff = ended(run.task, { state: { ...run.task, status: 'BACKOFF' }, wake: { kind: 'backoff', ms: 100 } });
    const { output: _output, ...untouched } = backoff;
    await t.write(runWrite(run.runId, 1, { tasks: [untouched], payloads: { output: '{"x":  0}' } }));
    const needs = { runInput: true as const, payloads: [run.task.taskId, t.made.newId()] };
    const loaded = (await t.store.readNeeds([{ ...run, needs }])).get(run.runId);
    expect(loaded?.runInput).toBe('{"a": [ ], "b":1.0}');
    expect([...(loaded?.payloads ?? [])]).toEqual([
      [run.task.taskId, { input: '{"n":9007199254740993}', output: null }],
    ]);
    expect((await t.store.getRun('default', run.runId, true))?.output).toBe('{"x":  0}');
  });

  it('keeps command ids with their run (R24)', async () => {
    const t = at();
    const run = await t.start();
    await t.write(runWrite(run.runId, 1, { commands: [{ commandId: 'c1', requestHash: 'h' }] }));
    const refs = ['c1', 'c2'].map((commandId) => ({ ...run, commandId }));
    expect([...(await t.store.readCommands(refs))]).toEqual([[`${run.runId}:c1`, { requestHash: 'h' }]]);
  });

  it('shows a stuck run, until a decision on it commits (R8)', async () => {
    const t = at();
    const run = await t.start();
    await t.store.flagStuck(run, 'a bug');
    expect((await t.store.getRun('default', run.runId, false))?.run.stuckReason).toBe('a bug');
    expect(await t.write(t.report(run))).toEqual([run.runId]);
    expect((await t.store.getRun('default', run.runId, false))?.run.stuckReason).toBeNull();
  });
}

function describeLocks(at: () => Tested): void {
  it('skips runs that are locked, and makes lock-first wait in turn (R7)', async () => {
    const t = at();
    const [locked, free] = [await t.start(), await t.start()];
    const order: string[] = [];
    let release: () => void = () => undefined;
    const isHeld = new Promise<void>((resolve) => {
      const hold = async (): Promise<void> => {
        resolve();
        await new Promise<void>((done) => (release = done));
        order.push('first');
      };
      void t.store.withLockedRuns([locked], hold);
    });
    await isHeld;
    const second = t.store.withLockedRuns([locked], () => Promise.resolve(void order.push('second')));
    expect(await t.write(t.report(locked), t.report(free))).toEqual([free.runId]);
    release();
    await second;
    expect(order).toEqual(['first', 'second']);
    expect(await t.write(t.report(locked))).toEqual([locked.runId]);
  });

  it('skips what is locked where several runs are locked first, and says so (R7)', async () => {
    const t = at();
    const [held, free] = [await t.start(), await t.start()];
    const absent = { namespace: 'default', runId: t.made.newId() };
    await t.store.withLockedRuns([held], async () => {
      const seen = await t.store.withLockedRuns(
        [held, free, absent],
        (session) => Promise.resolve([[...session.runs.keys()], [...session.skipped]]),
        { skipLocked: true },
      );
      expect(seen).toEqual([[free.runId], [held.runId]]);
    });
    const both = await t.store.withLockedRuns([held, free], (session) => Promise.resolve(session.runs.size), {
      skipLocked: true,
    });
    expect(both).toBe(2);
  });

  it('commits what was written under locks when the work resolves, and nothing when it rejects', async () => {
    const t = at();
    const run = await t.start();
    const writing = (fail: boolean) => async (session: LockedSession) => {
      const { held } = await session.write({ batchId: t.made.newId(), runs: [t.report(run)] });
      if (fail) throw new Error('changed its mind');
      return [...held];
    };
    await expect(t.store.withLockedRuns([run], writing(true))).rejects.toThrow('changed its mind');
    expect(await t.versionOf(run)).toBe(1);
    expect(await t.store.withLockedRuns([run], writing(false))).toEqual([run.runId]);
    expect(await t.versionOf(run)).toBe(2);
  });

  it('answers leases only under the lock, and lets nobody acquire between that and the write (R9)', async () => {
    const t = at();
    const run = await t.start();
    const needs = { leases: [run.task.taskId] };
    const unlocked = (await t.store.readNeeds([{ ...run, needs }])).get(run.runId);
    expect(unlocked?.leases?.size ?? 0).toBe(0);
    await t.store.withLockedRuns([run], async (session) => {
      const facts = (await session.readNeeds([{ ...run, needs }])).get(run.runId)?.leases?.get(run.task.taskId);
      expect(facts).toMatchObject({ leaseId: null, leaseExpired: false, redispatchDue: false });
      expect(await t.acquire(run)).toMatchObject({ status: 'RETRY' });
    });
    expect(await t.acquire(run)).toMatchObject({ status: 'GRANTED' });
  });
}

function describeLeases(at: () => Tested): void {
  it('answers an acquire in five ways (R10)', async () => {
    const t = at();
    const run = await t.start();
    expect(await t.acquire(run, { attempt: 2 })).toMatchObject({ status: 'NOT_YET' });
    expect(await t.acquire(run, { taskId: t.made.newId() })).toMatchObject({ status: 'NOT_YET' });
    const granted = await t.acquire(run, { wantInput: true });
    expect(granted).toMatchObject({ status: 'GRANTED', attempt: 1, ttlMs: 30_000, input: '{"n":9007199254740993}' });
    expect(await t.acquire(run)).toMatchObject({ status: 'GRANTED', leaseId: granted?.leaseId });
    expect(await t.acquire(run, { callId: 'other' })).toMatchObject({ status: 'HELD' });
    expect((await t.store.readRuns([run])).get(run.runId)?.leaseIds.get(run.task.taskId)).toBe(granted?.leaseId);
    expect(await t.write(t.report(run))).toEqual([run.runId]);
    expect(await t.acquire(run)).toMatchObject({ status: 'STALE' });
    expect((await t.store.readRuns([run])).get(run.runId)?.leaseIds.size).toBe(0);
  });

  it('renews a lease for its holder until it has expired, and never grants it again (R14)', async () => {
    const t = at();
    const run = await t.start();
    const leaseId = (await t.acquire(run))?.leaseId ?? '';
    const beat = { ...run, taskId: run.task.taskId, attempt: 1, leaseId, ttlMs: 10_000, progress: '{"at":1}' };
    const beats = (over: object): Promise<string | undefined> =>
      t.store.heartbeat([{ ...beat, ...over }]).then(([answer]) => answer?.status);
    expect(await beats({})).toBe('OK');
    expect(await beats({ attempt: 2 })).toBe('LOST');
    expect(await beats({ leaseId: run.runId })).toBe('LOST');
    await t.made.advance(11_000);
    expect(await beats({})).toBe('LOST');
    expect(await t.acquire(run)).toMatchObject({ status: 'HELD' });
    expect(await t.acquire(run, { callId: 'other' })).toMatchObject({ status: 'HELD' });
  });

  it('ends an attempt by time only while the lease and its instant are as they were read (R9)', async () => {
    const t = at();
    const run = await t.start();
    const leaseId = (await t.acquire(run))?.leaseId ?? '';
    const byTime = (over: object): Promise<unknown> => {
      const state = { ...run.task, attempt: 2, losses: 1 };
      const lost = dispatched(state, {
        op: 'update',
        fence: { attempt: 1 },
        leaseFence: { leaseId, passed: 'lease', ...over },
      });
      return t.write(runWrite(run.runId, 1, { tasks: [lost] })).catch((error: unknown) => (error as Error).name);
    };
    expect(await byTime({})).toBe('FenceMissError');
    await t.made.advance(31_000);
    expect(await byTime({ leaseId: run.runId })).toBe('FenceMissError');
    expect(await byTime({ passed: 'start-to-close' })).toBe('FenceMissError');
    expect(await byTime({})).toEqual([run.runId]);
    expect(await t.acquire(run, { attempt: 2, callId: 'next' })).toMatchObject({ status: 'GRANTED', attempt: 2 });
  });

  it('leases by the write that dispatches, where it is told to', async () => {
    const t = at();
    const leaseId = t.made.newId();
    const task = taskState(t.made.newId());
    const lease = { leaseId, owner: 'embedded', ttlMs: 30_000 };
    const { wake, ...rest } = dispatched(task);
    if (wake.kind !== 'dispatch') throw new Error('not a dispatch');
    const run = { ...(await t.start({}, { tasks: [{ ...rest, wake: { ...wake, lease } }] })), task };
    expect(await t.acquire(run)).toMatchObject({ status: 'HELD' });
    const beat = { ...run, taskId: task.taskId, attempt: 1, leaseId, ttlMs: 0 };
    expect(await t.store.heartbeat([beat])).toMatchObject([{ status: 'OK' }]);
  });

  it('tells the holder of a cut-off task, and renews it to the end of its grace only (R18)', async () => {
    const t = at();
    const run = await t.start();
    const leaseId = (await t.acquire(run))?.leaseId ?? '';
    const cutOff = ended(run.task, { state: { ...run.task, cutOff: true }, wake: { kind: 'cut-off', ms: 5_000 } });
    const { output: _output, ...kept } = cutOff;
    expect(await t.write(runWrite(run.runId, 1, { tasks: [kept] }))).toEqual([run.runId]);
    const beat = { ...run, taskId: run.task.taskId, attempt: 1, leaseId, ttlMs: 0 };
    const [answer] = await t.store.heartbeat([beat]);
    expect(answer?.status).toBe('CANCELLED');
    expect(answer?.ttlMs ?? 0).toBeLessThanOrEqual(5_000);
    await t.made.advance(6_000);
    expect(await t.store.heartbeat([beat])).toMatchObject([{ status: 'LOST' }]);
  });
}

function describeNeeds(at: () => Tested): void {
  it('gives buffered signals in order of arrival, and neither consumed nor expired ones (R32)', async () => {
    const t = at();
    const run = await t.start();
    const row = { name: 'paid', payloadHash: 'h', expiresInMs: null, consumedBy: null };
    const signals = [
      { ...row, op: 'insert-buffered', signalId: 'later', payload: '2', seq: 5 },
      { ...row, op: 'insert-buffered', signalId: 'sooner', payload: '1', seq: 4 },
      { ...row, op: 'insert-buffered', signalId: 'gone', payload: '0', seq: 3, expiresInMs: 10 },
      { ...row, op: 'insert-consumed', signalId: 'direct', payload: '3', seq: 6, consumedBy: run.task.taskId },
    ] as const;
    await t.write(runWrite(run.runId, 1, { signals }));
    await t.made.advance(1_000);
    const needs = { signals: ['paid', 'other'], knownSignals: ['direct', 'gone', 'nobody'] };
    const read = async (): Promise<unknown[]> => {
      const loaded = (await t.store.readNeeds([{ ...run, needs }])).get(run.runId);
      const found = loaded?.signals?.get('paid')?.map(({ signalId }) => signalId);
      return [found, loaded?.signals?.get('other'), [...(loaded?.knownSignals?.keys() ?? [])].sort()];
    };
    expect(await read()).toEqual([['sooner', 'later'], [], ['direct', 'gone']]);
    const consume = { ...row, op: 'consume', signalId: 'sooner', payload: null, payloadHash: null, seq: 0 } as const;
    await t.write(runWrite(run.runId, 2, { signals: [{ ...consume, consumedBy: run.task.taskId }] }));
    expect(await read()).toEqual([['later'], [], ['direct', 'gone']]);
  });

  it('keeps timers until they are cleared, says when they are due, and pushes the ones that fail (R21)', async () => {
    const t = at();
    const run = await t.start();
    const timer = (kind: 'wait-timeout' | 'run-deadline', nodeId: string | null) => ({
      ...{ timerId: t.made.newId(), kind, nodeId, generation: 1 },
      ...{ afterMs: 1_000, from: 'now' as const },
    });
    const [a, b, deadline] = [timer('wait-timeout', 'a'), timer('wait-timeout', 'b'), timer('run-deadline', null)];
    await t.write(runWrite(run.runId, 1, { timers: [a, b, deadline] }));
    const needs = { timers: [a.timerId, b.timerId, deadline.timerId] };
    const read = async (): Promise<unknown[]> => {
      const rows = (await t.store.readNeeds([{ ...run, needs }])).get(run.runId)?.timers;
      return needs.timers.map((id) => rows?.get(id)?.due ?? 'gone');
    };
    expect(await read()).toEqual([false, false, false]);
    await t.made.advance(1_500);
    expect(await read()).toEqual([true, true, true]);
    expect(await t.store.pushTimer('default', run.runId, a.timerId)).toBe(1);
    expect(await read()).toEqual([false, true, true]);
    await t.write(runWrite(run.runId, 2, { clearTimers: [{ scope: 'node', nodeId: 'b' }] }));
    await t.write(runWrite(run.runId, 3, { clearTimers: [{ scope: 'kind', kind: 'run-deadline' }] }));
    expect(await read()).toEqual([false, 'gone', 'gone']);
    const fresh = timer('wait-timeout', 'c');
    await t.write(runWrite(run.runId, 4, { clearTimers: [{ scope: 'all' }], timers: [fresh] }));
    expect(await read()).toEqual(['gone', 'gone', 'gone']);
  });

  it('counts failed wake-ups of a task until its wake-up is decided anew (R21)', async () => {
    const t = at();
    const run = await t.start();
    const push = (): Promise<number> => t.store.pushWake('default', run.runId, run.task.taskId);
    expect([await push(), await push()]).toEqual([1, 2]);
    const { output: _output, ...rest } = ended(run.task, { state: run.task, wake: { kind: 'keep' } });
    await t.write(runWrite(run.runId, 1, { tasks: [rest] }));
    expect(await push()).toBe(3);
    await t.write(runWrite(run.runId, 2, { tasks: [{ ...rest, wake: { kind: 'rearm' } }] }));
    expect(await push()).toBe(1);
    await t.write(runWrite(run.runId, 3, { tasks: [ended(run.task)] }));
    expect(await push()).toBe(0);
  });

  it('tells which buffered signals have expired, and lets them go (R32)', async () => {
    const t = at();
    const run = await t.start();
    const row = { name: 'paid', payload: '1', payloadHash: 'h', consumedBy: null, op: 'insert-buffered' } as const;
    const signals = [
      { ...row, signalId: 'kept', seq: 2, expiresInMs: null },
      { ...row, signalId: 'gone', seq: 3, expiresInMs: 10 },
      { ...row, signalId: 'later', seq: 4, expiresInMs: 60_000 },
    ];
    await t.write(runWrite(run.runId, 1, { signals }));
    const expired = async (): Promise<unknown> =>
      (await t.store.readNeeds([{ ...run, needs: { expiredSignals: true } }])).get(run.runId)?.expiredSignals;
    await t.made.advance(1_000);
    expect(await expired()).toMatchObject([{ signalId: 'gone', name: 'paid' }]);
    const drop = { ...row, op: 'consume', signalId: 'gone', payload: null, payloadHash: null } as const;
    await t.write(runWrite(run.runId, 2, { signals: [{ ...drop, seq: 5, expiresInMs: null }] }));
    expect(await expired()).toEqual([]);
  });

  it('tells the statuses of runs, and their history in order', async () => {
    const t = at();
    const run = await t.start();
    await t.write({ ...t.report(run), run: { ...runningRow, status: 'SUCCEEDED', journalSeq: 2 } });
    expect([...(await t.store.statuses([run]))]).toEqual([[run.runId, 'SUCCEEDED']]);
    const entries = await t.store.history('default', run.runId, 0, 10);
    expect(entries.map(({ seq, kind }) => `${seq} ${kind}`)).toEqual(['1 run.started', '2 node.succeeded']);
    expect((await t.store.history('default', run.runId, 1, 10)).map(({ seq }) => seq)).toEqual([2]);
    expect((await t.store.getRun('default', run.runId, false))?.run.endedAt).toBeInstanceOf(Date);
  });
}
