import type { SagaStep } from '../definition/saga.js';
import { StepExecutor } from '../executor/step-executor.js';
import { guardObserver } from '../observe/guard-observer.js';
import { sagaOf as sagaOfSteps, runtimeFixture } from '../runtime/testing/runtime-fixture.js';
import { fakeClock, settle, type FakeClock } from '../testing/fake-clock.js';
import { claimedStep, FakeHeartbeater, recordingLogger, sagaOf } from '../testing/steps.js';
import { BatchBarrier } from './old/batch-barrier.js';

const POLL_MS = 200;
const times = { leaseDurationMs: 30_000, heartbeatIntervalMs: 10_000 };

/** A process that runs steps: `wedged` never settles, `quick` ends at once. */
interface Process {
  readonly clock: FakeClock;
  add(step: 'wedged' | 'quick'): void;
  start(): unknown;
  readonly ran: readonly string[];
}

/** W20: one step that never ends holds up nobody but itself. */
async function wedgedStepStopsNobody(process: Process): Promise<void> {
  process.add('wedged');
  process.add('quick');
  void process.start();
  await process.clock.advance(POLL_MS);
  for (let n = 0; n < 3; n += 1) {
    process.add('quick');
    await process.clock.advance(POLL_MS * 2);
  }
  expect(process.ran.filter((step) => step === 'quick')).toHaveLength(4);
}

function residentPool(): Process {
  const ran: string[] = [];
  const code: Readonly<Record<string, () => unknown>> = {
    wedged: () => new Promise(() => undefined),
    quick: () => null,
  };
  const base = sagaOfSteps({ wedged: [], quick: [] });
  const steps = new Map(
    [...base.steps].map(([name, step]): [string, SagaStep] => {
      const run = () => {
        ran.push(name);
        return code[name]?.();
      };
      return [name, { ...step, run }];
    }),
  );
  const clock = fakeClock();
  const runner = new StepExecutor({ heartbeater: new FakeHeartbeater(), times, clock, logger: recordingLogger() });
  const { runtime, journal } = runtimeFixture({
    ...{ concurrency: 2, saga: { ...base, steps }, config: { pollIntervalMs: POLL_MS } },
    parts: { runner, clock },
  });
  return { clock, ran, add: (step) => void journal.add(step), start: () => runtime.start() };
}

function barrier(): Process {
  const clock = fakeClock();
  const ran: string[] = [];
  const old = new BatchBarrier(clock, 2);
  const add = (step: 'wedged' | 'quick') =>
    old.add(() => {
      ran.push(step);
      return step === 'wedged' ? new Promise(() => undefined) : undefined;
    });
  return { clock, ran, add, start: () => old.start() };
}

/** W20: an observer that hangs for ever leaves a bounded number of calls behind. */
async function hangingObserverLeaksNothing(observe: (callback: () => Promise<unknown>) => void): Promise<void> {
  let hanging = 0;
  for (let n = 0; n < 5_000; n += 1) {
    observe(() => {
      hanging += 1;
      return new Promise(() => undefined);
    });
  }
  await settle();
  expect(hanging).toBeLessThanOrEqual(100);
}

describe('W20: a step that never ends', () => {
  it('W20: holds up no other step: a slot that is free claims', async () => {
    await wedgedStepStopsNobody(residentPool());
  });

  it('W20: gives its slot up after its abort and a grace; it is counted while it runs, and its late result is ignored', async () => {
    const clock = fakeClock();
    const logger = recordingLogger();
    const executor = new StepExecutor({
      ...{ heartbeater: new FakeHeartbeater(), times, clock, logger },
      abandonAfterMs: 2_000,
    });
    let finish: (value: string) => void = () => undefined;
    const run = () => new Promise((resolve) => (finish = resolve));
    const attempt = executor.begin(claimedStep(), sagaOf({ run }));
    let ended = false;
    void attempt.result.then(() => (ended = true));
    await settle();
    attempt.abort();
    await clock.advance(1_999);
    expect(ended).toBe(false);
    await clock.advance(1);
    expect(await attempt.result).toEqual({ outcome: 'canceled', reason: 'stopping', started: true });
    expect(executor.orphans).toBe(1);
    expect(clock.pending).toBe(0);
    finish('too late');
    await settle();
    expect(executor.orphans).toBe(0);
    expect(logger.lines.map(({ level, message }) => [level, message])).toEqual([
      ['error', 'a step does not react to its abort: its slot is given up'],
      ['info', 'a step ended'],
      ['info', 'a step that was given up has ended; its result is ignored'],
    ]);
  });

  it('W20: also where a timeout, a lost lease or a cancel was the cause', async () => {
    const forEver = { run: () => new Promise(() => undefined) };
    const cases = [
      { answer: 'ok', startToCloseMs: 5_000, expected: { outcome: 'expired' } },
      { answer: 'lost', startToCloseMs: null, expected: { outcome: 'lease_lost' } },
      { answer: 'cancelled', startToCloseMs: null, expected: { outcome: 'canceled', reason: 'cancelled' } },
    ] as const;
    for (const { answer, startToCloseMs, expected } of cases) {
      const clock = fakeClock();
      const heartbeater = new FakeHeartbeater();
      heartbeater.answer = answer;
      const executor = new StepExecutor({ heartbeater, times, clock, logger: recordingLogger() });
      const { result } = executor.begin(claimedStep({ startToCloseMs }), sagaOf(forEver));
      await clock.advance(15_000);
      expect(await result).toMatchObject(expected);
      expect(clock.pending).toBe(0);
    }
  });

  it('W20: the old behaviour fails this check', async () => {
    await expect(wedgedStepStopsNobody(barrier())).rejects.toThrow();
  });
});

describe('W20: an observer that never settles', () => {
  it('W20: is called a bounded number of times, and nothing of it stays but those calls', async () => {
    const clock = fakeClock();
    await hangingObserverLeaksNothing((callback) => {
      guard ??= guardObserver({ tick: () => current() }, { clock, logger: recordingLogger() });
      current = callback;
      guard.tick?.({ result: 'empty', claimed: 0, durationMs: 1 });
    });
    await clock.advance(5_000);
    expect(clock.pending).toBe(0);
  });
  let guard: ReturnType<typeof guardObserver> | undefined;
  let current: () => Promise<unknown> = () => Promise.resolve();

  it('W20: the old behaviour fails this check (a call is left behind each time)', async () => {
    const old = new BatchBarrier(fakeClock(), 1);
    await expect(hangingObserverLeaksNothing((callback) => old.observe(callback))).rejects.toThrow();
    expect(old.leaked).toBe(5_000);
  });
});
