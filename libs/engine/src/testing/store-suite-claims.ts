import type { TaskState } from '@baton/core';
import type { ClaimTasks } from '../api.js';
import type { RunStartWrite, TaskWrite } from '../ports.js';
import type { StoreUnderTest } from './store-suite.js';
import { deadlines, dispatched, ended, runWrite, runningRow, startWrite, taskState } from './writes.js';

interface Begun {
  readonly runId: string;
  readonly task: TaskState;
}

/** Each test has a definition of its own: what others leave behind is not theirs to claim. */
class Claims {
  private static made = 0;
  private readonly definitionId = `claims-${(Claims.made += 1)}`;
  private calls = 0;

  constructor(private readonly made: StoreUnderTest) {}

  get store() {
    return this.made.store;
  }

  get definitions() {
    return [{ id: this.definitionId, version: 1, queue: 'orders' }];
  }

  async begin(over: Partial<RunStartWrite> = {}, state: Partial<TaskState> = {}, write: Partial<TaskWrite> = {}) {
    const runId = this.made.newId();
    const task = taskState(this.made.newId(), state);
    const run = runWrite(runId, 0, { tasks: [dispatched(task, write)] });
    const start = startWrite(run, { definitionId: this.definitionId, route: 'local', ...over });
    await this.store.writeStarts({ batchId: this.made.newId(), starts: [start] });
    // Each dispatch has an instant of its own.
    await this.made.advance(10);
    return { runId, task };
  }

  call(over: Partial<ClaimTasks> = {}): ClaimTasks {
    const callId = `${this.definitionId} ${(this.calls += 1)}`;
    return { namespace: 'default', definitions: this.definitions, owner: 'w', callId, ttlMs: 0, limit: 10, ...over };
  }

  async claim(over: Partial<ClaimTasks> = {}): Promise<string[]> {
    return (await this.store.claim(this.call(over))).map(({ runId }) => runId);
  }

  async lookAt(limit = 10): Promise<string[]> {
    return (await this.store.claimable('default', this.definitions, limit)).map(({ runId }) => runId);
  }

  acquire({ runId, task }: Begun) {
    const call = { namespace: 'default', runId, taskId: task.taskId, attempt: 1, owner: 'other', callId: 'a' };
    return this.store.acquire([{ ...call, ttlMs: 0, wantInput: false }]).then(([answer]) => answer?.status);
  }
}

/** R29: what the embedded runtime takes of the tasks that wait. */
export function describeClaims(made: () => StoreUnderTest): void {
  it('claims the tasks that wait, oldest dispatch first, at most as many as are asked for (R29)', async () => {
    const claims = new Claims(made());
    const runs = [await claims.begin(), await claims.begin(), await claims.begin()];
    const ids = runs.map(({ runId }) => runId);
    expect(await claims.lookAt(2)).toEqual(ids.slice(0, 2));
    expect(await claims.claim({ limit: 2 })).toEqual(ids.slice(0, 2));
    expect(await claims.lookAt()).toEqual(ids.slice(2));
    expect(await claims.claim()).toEqual(ids.slice(2));
    expect(await claims.claim()).toEqual([]);
  });

  it('gives with the lease all that a worker needs (R10)', async () => {
    const claims = new Claims(made());
    const { runId, task } = await claims.begin({ traceparent: '00-aa-bb-01' }, { attempt: 3, failures: 2 });
    const [definition] = claims.definitions;
    const seen = {
      ...{ namespace: 'default', runId, taskId: task.taskId, nodeId: 'reserve', item: 0, kind: 'forward' },
      ...{ generation: 1, attempt: 3, failures: 2, queue: 'orders', handler: 'reserve', epoch: 1 },
      ...{ definitionId: definition?.id, definitionVersion: 1, traceparent: '00-aa-bb-01' },
    };
    expect(await claims.store.claimable('default', claims.definitions, 10)).toEqual([seen]);
    const [leased] = await claims.store.claim(claims.call());
    expect(leased).toEqual({
      ...seen,
      leaseId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ttlMs: 30_000,
      startToCloseMs: 3_600_000,
      input: '{"n":9007199254740993}',
    });
    const stored = (await claims.store.readRuns([{ namespace: 'default', runId }])).get(runId);
    expect(stored?.leaseIds.get(task.taskId)).toBe(leased?.leaseId);
    expect(stored?.state.version).toBe(1); // R9: outside the version
  });

  it('R14: leases for what was asked, at most the heartbeat timeout', async () => {
    const claims = new Claims(made());
    await claims.begin();
    await claims.begin();
    const ttls = async (ttlMs: number) => (await claims.store.claim(claims.call({ ttlMs, limit: 1 })))[0]?.ttlMs;
    expect([await ttls(5_000), await ttls(90_000)]).toEqual([5_000, 30_000]);
  });

  it('R10: gives the same call the same leases again while they last, and nothing else', async () => {
    const claims = new Claims(made());
    await claims.begin();
    const call = claims.call();
    const [first] = await claims.store.claim(call);
    await claims.begin();
    await made().advance(1_000);
    const again = await claims.store.claim(call);
    expect(again.map(({ leaseId }) => leaseId)).toEqual([first?.leaseId]);
    expect(again[0]?.ttlMs).toBeLessThan(first?.ttlMs ?? 0);
    expect(await claims.store.claim({ ...call, owner: 'somebody else', limit: 1 })).toHaveLength(1);
    await made().advance(60_000);
    // R9: an expired lease is never granted again; what the call gets now is new.
    expect(await claims.store.claim(call)).toEqual([]);
  });

  it('R29: leaves alone what is not free, not local, of another definition, version, queue or namespace', async () => {
    const claims = new Claims(made());
    await claims.begin({ route: 'kafka' });
    await claims.begin({ definitionId: 'another' });
    await claims.begin({}, {}, { queue: 'elsewhere' });
    await claims.begin({}, { status: 'WAITING' }, { wake: { kind: 'idle' } });
    const lease = { leaseId: made().newId(), owner: 'starter', ttlMs: 5_000 };
    await claims.begin({}, {}, { wake: { kind: 'dispatch', deadlines, lease } });
    const held = await claims.begin();
    expect(await claims.acquire(held)).toBe('GRANTED');
    expect(await claims.lookAt()).toEqual([]);
    expect(await claims.claim()).toEqual([]);
    const free = await claims.begin();
    const [definition] = claims.definitions;
    expect(await claims.claim({ namespace: 'strange' })).toEqual([]);
    expect(await claims.claim({ definitions: [] })).toEqual([]);
    expect(await claims.claim({ definitions: [{ ...definition!, version: 2 }] })).toEqual([]);
    expect(await claims.claim({ definitions: [{ ...definition!, queue: 'elsewhere', version: 3 }] })).toEqual([]);
    expect(await claims.claim()).toEqual([free.runId]);
  });

  it('R18: never claims a task that was cut off, nor one of a run that has ended', async () => {
    const claims = new Claims(made());
    const cut = await claims.begin();
    const over = await claims.begin();
    const cutOff = { ...cut.task, cutOff: true };
    const writes = [
      runWrite(cut.runId, 1, {
        tasks: [ended(cut.task, { state: cutOff, wake: { kind: 'cut-off', ms: 30_000 } })],
      }),
      runWrite(over.runId, 1, { run: { ...runningRow, status: 'CANCELLED', cause: 'cancel' } }),
    ];
    const { held } = await claims.store.write({ batchId: made().newId(), runs: writes });
    expect(held.size).toBe(2);
    expect(await claims.lookAt()).toEqual([]);
    expect(await claims.claim()).toEqual([]);
  });

  it('R9: skips a row that a decision has locked, and what it claims stays out of that decision', async () => {
    const claims = new Claims(made());
    const { runId, task } = await claims.begin();
    const ref = { namespace: 'default', runId };
    const free = await claims.begin();
    await claims.store.withLockedRuns([ref], async (session) => {
      await session.readNeeds([{ ...ref, needs: { leases: [task.taskId] } }]);
      expect(await claims.claim()).toEqual([free.runId]);
    });
    expect(await claims.claim()).toEqual([runId]);
  });

  it('R30: shows leases without locks, and writes only where what was seen is still so', async () => {
    const claims = new Claims(made());
    const { runId, task } = await claims.begin();
    const ref = { namespace: 'default', runId };
    const lookAtLease = async () => {
      const found = await claims.store.readNeeds([{ ...ref, needs: { leases: [task.taskId] } }], { withLeases: true });
      return found.get(runId)?.leases?.get(task.taskId);
    };
    const writeOn = (leaseId: string | null, expectedVersion: number) => {
      const leaseFence = { leaseId, passed: null };
      const seen = ended(task, { state: task, leaseFence, wake: { kind: 'keep' } });
      const runs = [runWrite(runId, expectedVersion, { tasks: [seen] })];
      return claims.store.write({ batchId: made().newId(), runs }).then(({ held }) => held.size);
    };
    expect(await lookAtLease()).toMatchObject({ leaseId: null, leaseExpired: false });
    expect(await writeOn(null, 1)).toBe(1);
    const [leased] = await claims.store.claim(claims.call());
    expect(await lookAtLease()).toMatchObject({ leaseId: leased?.leaseId, leaseOwner: 'w', leaseExpired: false });
    await expect(writeOn(null, 2)).rejects.toMatchObject({ runIds: [runId] });
    await expect(writeOn(made().newId(), 2)).rejects.toMatchObject({ runIds: [runId] });
    expect(await writeOn(leased?.leaseId ?? '', 2)).toBe(1);
    await made().advance(60_000);
    expect(await lookAtLease()).toMatchObject({ leaseId: leased?.leaseId, leaseExpired: true });
  });
}
