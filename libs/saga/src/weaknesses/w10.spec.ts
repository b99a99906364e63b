import { StepExecutor } from '../executor/step-executor.js';
import { fakeClock, type FakeClock } from '../testing/fake-clock.js';
import { claimedStep, FakeHeartbeater, recordingLogger, sagaOf } from '../testing/steps.js';
import { FailOpenHeartbeats } from './old/fail-open-heartbeats.js';

const LEASE_MS = 30_000;
const BEAT_MS = 10_000;

interface Holder {
  readonly clock: FakeClock;
  run(step: (signal: AbortSignal) => unknown): void;
  /** From now on the database answers no heartbeat: with an error, or not at all. */
  cutOff(how: 'away' | 'never'): void;
}

/** W10: a step whose lease nobody could renew is stopped before anybody else can have it. */
async function fencesItself(holder: Holder, how: 'away' | 'never'): Promise<void> {
  let seen: AbortSignal | undefined;
  holder.run((signal) => {
    seen = signal;
    return new Promise(() => undefined);
  });
  await holder.clock.advance(BEAT_MS * 2);
  expect(seen?.aborted).toBe(false);
  holder.cutOff(how);
  // The last good renewal was sent at 20 s: the lease ends at 50 s by the database's clock at the earliest.
  await holder.clock.advance(LEASE_MS);
  expect(seen?.aborted).toBe(true);
}

function executor(): Holder {
  const clock = fakeClock();
  const heartbeater = new FakeHeartbeater();
  const times = { leaseDurationMs: LEASE_MS, heartbeatIntervalMs: BEAT_MS };
  const steps = new StepExecutor({ heartbeater, times, clock, logger: recordingLogger() });
  return {
    clock,
    run: (step) => void steps.begin(claimedStep(), sagaOf({ run: ({ signal }) => step(signal) })),
    cutOff: (how) => (heartbeater.answer = how),
  };
}

function failOpen(): Holder {
  const clock = fakeClock();
  let answer: 'ok' | 'away' | 'never' = 'ok';
  const heartbeat = () => {
    if (answer === 'never') return new Promise<boolean>(() => undefined);
    return answer === 'ok' ? Promise.resolve(true) : Promise.reject(new Error('away'));
  };
  const old = new FailOpenHeartbeats(clock, heartbeat, BEAT_MS);
  return { clock, run: (step) => old.run(step), cutOff: (how) => (answer = how) };
}

describe('W10: a lease that cannot be renewed', () => {
  it.each(['away', 'never'] as const)('W10: fences itself by its own clock when the database is %s', async (how) => {
    await fencesItself(executor(), how);
  });

  it('W10: counts from when the last good renewal was sent, not from its answer, and not from the claim', async () => {
    const holder = executor();
    let abortedAt: number | undefined;
    holder.run((signal) => {
      signal.addEventListener('abort', () => (abortedAt = holder.clock.now()));
      return new Promise(() => undefined);
    });
    const begunAt = holder.clock.now();
    await holder.clock.advance(BEAT_MS * 2);
    holder.cutOff('never');
    await holder.clock.advance(LEASE_MS * 2);
    expect(abortedAt).toBe(begunAt + BEAT_MS * 2 + LEASE_MS);
  });

  it('W10: a claim whose answer came late is no younger for it', async () => {
    const clock = fakeClock();
    const heartbeater = new FakeHeartbeater();
    heartbeater.answer = 'never';
    const times = { leaseDurationMs: LEASE_MS, heartbeatIntervalMs: BEAT_MS };
    const steps = new StepExecutor({ heartbeater, times, clock, logger: recordingLogger() });
    const run = jest.fn();
    const { result } = steps.begin(claimedStep(), sagaOf({ run }), clock.now() - LEASE_MS);
    await clock.advance(1);
    expect(await result).toEqual({ outcome: 'lease_lost' });
    expect(run).not.toHaveBeenCalled();
  });

  it('W10: what a step returns after that may still be in time: it is handed on, and the fence decides (R14)', async () => {
    const clock = fakeClock();
    const heartbeater = new FakeHeartbeater();
    heartbeater.answer = 'never';
    const times = { leaseDurationMs: LEASE_MS, heartbeatIntervalMs: BEAT_MS };
    const steps = new StepExecutor({ heartbeater, times, clock, logger: recordingLogger() });
    const run = ({ signal }: { readonly signal: AbortSignal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve('charged')));
    const { result } = steps.begin(claimedStep(), sagaOf({ run }));
    await clock.advance(LEASE_MS);
    expect(await result).toEqual({ outcome: 'succeeded', output: '"charged"' });
  });

  it.each(['away', 'never'] as const)('W10: the old behaviour fails this check (%s)', async (how) => {
    await expect(fencesItself(failOpen(), how)).rejects.toThrow();
  });
});
