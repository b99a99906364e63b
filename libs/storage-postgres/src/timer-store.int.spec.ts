import { randomUUID } from 'node:crypto';
import { MAJORS, storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { DEADLINES, NAMESPACE, newRunId, runWrite, startRuns } from './testing/writes.js';
import { createTimerStore, type TimerStore } from './timer-store.js';

describe.each(MAJORS)('what the timer service asks for on PostgreSQL %i', (major) => {
  let fixture: StoreFixture;
  let timers: TimerStore;

  beforeAll(async () => {
    fixture = await storeFixture(major);
    timers = createTimerStore({ url: fixture.url });
  });
  afterAll(async () => {
    await timers.close();
    await fixture.close();
  });
  afterEach(() => fixture.moveClock('0 seconds'));

  it('finds what is due, oldest first, never early, and tells when the next comes (R22)', async () => {
    expect(await timers.readDue(10)).toMatchObject({ items: [], nextDueInMs: null });
    const wakes = (scheduleToStartMs: number) => ({
      wake: { kind: 'dispatch', deadlines: { ...DEADLINES, scheduleToStartMs }, lease: null } as const,
    });
    const [late] = await startRuns(fixture.store, 1, wakes(20_000));
    const [soon] = await startRuns(fixture.store, 1, wakes(5_000));
    const timerId = newRunId();
    const timer = { timerId, kind: 'run-deadline', nodeId: null, generation: 1, afterMs: 10_000, from: 'now' } as const;
    await fixture.store.write({ batchId: randomUUID(), runs: [runWrite(late!.runId, 1, { timers: [timer] })] });

    const early = await timers.readDue(10);
    expect(early.items).toEqual([]);
    expect(early.nextDueInMs).toBeGreaterThan(0);
    expect(early.nextDueInMs).toBeLessThanOrEqual(5_000);

    await fixture.moveClock('30 seconds');
    const task = (run: typeof late) => ({
      kind: 'task',
      namespace: NAMESPACE,
      runId: run!.runId,
      taskId: run!.task.taskId,
      attempt: 1,
    });
    const due = { kind: 'timer', namespace: NAMESPACE, runId: late!.runId, timerId };
    const scan = await timers.readDue(10);
    expect(scan).toMatchObject({ items: [task(soon), due, task(late)], nextDueInMs: null });
    expect(scan.lateMs.map((ms) => Math.floor(ms / 1_000) > 8)).toEqual([true, true, true]);
    expect((await timers.readDue(2)).items).toEqual([task(soon), due]);

    expect(await fixture.store.pushTimer(NAMESPACE, late!.runId, timerId)).toBe(1);
    expect(await fixture.store.pushTimer(NAMESPACE, late!.runId, timerId)).toBe(2);
    const pushed = await timers.readDue(10);
    expect(pushed.items).toEqual([task(soon), task(late)]);
    expect(pushed.nextDueInMs).toBeGreaterThan(1_000);
    expect(await fixture.store.pushTimer(NAMESPACE, late!.runId, newRunId())).toBe(0);
  });

  it('R22: gives a role to one owner at a time, by the database clock', async () => {
    expect(await timers.takeServiceLease('timer', 'a', 10_000)).toEqual({ epoch: 1 });
    expect(await timers.takeServiceLease('timer', 'b', 10_000)).toBeUndefined();
    expect(await timers.takeServiceLease('timer', 'a', 10_000)).toEqual({ epoch: 1 });
    await fixture.moveClock('11 seconds');
    expect(await timers.takeServiceLease('timer', 'b', 10_000)).toEqual({ epoch: 2 });
    expect(await timers.takeServiceLease('timer', 'a', 10_000)).toBeUndefined();
    await timers.releaseServiceLease('timer', 'a');
    expect(await timers.takeServiceLease('timer', 'a', 10_000)).toBeUndefined();
    await timers.releaseServiceLease('timer', 'b');
    expect(await timers.takeServiceLease('timer', 'a', 10_000)).toEqual({ epoch: 3 });
  });

  it('R22: gives a role to one of many that ask at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_unused, n) => timers.takeServiceLease('crowd', `owner-${n}`, 10_000)),
    );
    expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
  });

  it('makes partitions ahead (R25)', async () => {
    await timers.ensurePartitions();
    expect((await fixture.query(`SELECT baton.ensure_partitions() AS made`))[0]).toEqual({ made: 0 });
  });
});
