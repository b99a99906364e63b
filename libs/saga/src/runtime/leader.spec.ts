import { inProcessLocker } from '../leader/in-process-locker.js';
import { RunLeaderGate } from '../leader/leader-gate.js';
import { lockKey } from '../leader/lock-key.js';
import type { Locker } from '../leader/locker.js';
import { fakeClock, settle } from '../testing/fake-clock.js';
import { RuntimeCore } from './runtime.js';
import { HandRunner } from './testing/hand-runner.js';
import { LineJournal } from './testing/line-journal.js';
import { LogBook, ObserverBook, runtimeFixture, succeeded } from './testing/runtime-fixture.js';

const LEASE_MS = 30_000;
const POLL_MS = 200;

/** Two processes over one journal, one clock and one lock service. */
function twoRuntimes(locker?: Locker) {
  const clock = fakeClock();
  const shared = locker ?? inProcessLocker({ clock });
  const journal = new LineJournal();
  const processOf = () => {
    const logger = new LogBook();
    const observer = new ObserverBook();
    const runner = new HandRunner();
    const gate = new RunLeaderGate({ locker: shared, ttlMs: LEASE_MS, logger, observer });
    const { parts } = runtimeFixture({ config: { pollIntervalMs: POLL_MS }, gate, concurrency: 3 });
    const core = new RuntimeCore({ ...parts, journal, runner, clock, logger, observer }, { kick: () => undefined });
    return { core, runner, logger, observer };
  };
  return { clock, locker: shared, journal, first: processOf(), second: processOf() };
}

describe('leader election', () => {
  it('L8: two runtimes, one lock service and ten runs: each step runs once', async () => {
    const { clock, journal, first, second } = twoRuntimes();
    for (const { runner } of [first, second]) runner.result = succeeded;
    for (let run = 0; run < 10; run += 1) journal.add(`a${run}`, `b${run}`);
    await Promise.all([first.core.start(), second.core.start()]);
    await clock.advance(POLL_MS * 20);
    const ran = [...first.runner.ran, ...second.runner.ran];
    expect(new Set(ran).size).toBe(20);
    expect(ran).toHaveLength(20);
    expect(journal.appended.every(({ report }) => report.kind === 'step_completed')).toBe(true);
    await Promise.all([first.core.stop(), second.core.stop()]);
  });

  it('L3, L4: one drives at a time; the other leases nothing (W2), and is next after the release', async () => {
    const { clock, journal, first, second } = twoRuntimes();
    const runId = journal.add('a');
    await first.core.start();
    await clock.advance(0);
    expect(first.runner.ran).toEqual(['a']);
    // As if a step beside it had become claimable.
    journal.waiting.push({ ...first.runner.begun[0]!.step, taskId: 'beside', nodeId: 'beside', leaseId: 'other' });
    await second.core.start();
    await clock.advance(POLL_MS * 3);
    expect(second.runner.ran).toEqual([]);
    expect(journal.waiting.map(({ nodeId }) => nodeId)).toEqual(['beside']);
    expect(second.observer.of('leaderSkip')[0]).toEqual({ runId, sagaId: 'order', reason: 'contended' });
    expect(second.logger.of('warn')).toEqual([]);
    first.core.stop(60_000).catch(() => undefined);
    first.runner.finish('a');
    await clock.advance(POLL_MS * 2);
    expect(second.runner.ran).toEqual(['beside']);
    second.runner.finish('beside');
    await second.core.stop();
  });

  it('L3: a lock service that cannot tell means: drive nothing, and say so', async () => {
    const broken: Locker = { acquire: () => Promise.reject(new Error('secret host is away')) };
    const { clock, journal, first } = twoRuntimes(broken);
    journal.add('a');
    await first.core.start();
    await clock.advance(POLL_MS);
    expect(first.runner.ran).toEqual([]);
    expect(journal.waiting).toHaveLength(1);
    expect(first.observer.of('leaderSkip')[0]).toMatchObject({ reason: 'backend_error' });
    expect(JSON.stringify(first.logger.lines)).not.toContain('secret');
    await first.core.stop();
  });

  it('W20: a look that fails half-way gives back the slots of what it did not begin, and no others', async () => {
    const { clock, journal, first } = twoRuntimes();
    journal.add('a');
    journal.add('b');
    const claimOne = journal.claimOne.bind(journal);
    let calls = 0;
    journal.claimOne = (peek) => ((calls += 1) === 2 ? Promise.reject(new Error('away')) : claimOne(peek));
    await first.core.start();
    await clock.advance(0);
    expect(first.runner.ran).toEqual(['a']);
    for (const step of ['c', 'd', 'e']) journal.add(step);
    await clock.advance(POLL_MS * 20);
    expect(first.runner.ran).toEqual(['a', 'b', 'c']);
    first.runner.result = succeeded;
    for (const step of ['a', 'b', 'c']) first.runner.finish(step);
    await clock.advance(POLL_MS * 20);
    expect(first.runner.ran).toHaveLength(5);
    await first.core.stop();
  });

  it('L7: the lock of a wedged step is neither released nor renewed: others get it when its time is over', async () => {
    const { clock, journal, locker, first } = twoRuntimes();
    first.runner.reactsToAbort = false;
    const runId = journal.add('wedged');
    await first.core.start();
    await clock.advance(LEASE_MS * 2);
    const stopped = first.core.stop(100).catch((error: unknown) => error);
    await clock.advance(2_000);
    expect(await stopped).toMatchObject({ code: 'SAGA_STOP_TIMEOUT' });
    const key = lockKey({ runId, sagaId: 'order' });
    expect(await locker.acquire(key, LEASE_MS)).toBeNull();
    await clock.advance(LEASE_MS);
    const lock = await locker.acquire(key, LEASE_MS);
    expect(lock).not.toBeNull();
    await lock?.release();
    first.runner.finish('wedged');
    await settle();
    expect(journal.appended).toEqual([]);
  });

  it('L7: a step that is woken by the abort is given back, and its lock is left to die all the same', async () => {
    const { clock, journal, locker, first } = twoRuntimes();
    const runId = journal.add('woken');
    await first.core.start();
    await clock.advance(0);
    const stopped = first.core.stop(100).catch((error: unknown) => error);
    await clock.advance(2_000);
    expect(await stopped).toMatchObject({ details: [{ code: 'GIVEN_BACK' }] });
    expect(journal.appended.map(({ report }) => report)).toEqual([{ kind: 'step_released', notStarted: false }]);
    expect(await locker.acquire(lockKey({ runId, sagaId: 'order' }), LEASE_MS)).toBeNull();
  });
});
