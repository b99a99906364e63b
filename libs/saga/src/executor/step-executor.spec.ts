import { NonRetryableError, retryLater, TaskError } from '@baton/execution';
import type { Saga } from '../definition/saga.js';
import type { CompensateContext, StepContext } from '../definition/types.js';
import type { SagaError } from '../journal/errors.js';
import type { ClaimedStep } from '../journal/ports.js';
import type { SagaObserver } from '../observe/observer.js';
import { fakeClock, settle, type FakeClock } from '../testing/fake-clock.js';
import { claimedStep, FakeHeartbeater, recordingLogger, sagaOf, type StepCode } from '../testing/steps.js';
import { StepExecutor, type RunningAttempt, type StepExecutorParts } from './step-executor.js';
import type { StepResult } from './types.js';

const LEASE_MS = 30_000;
const BEAT_MS = 10_000;

class Bench {
  readonly clock: FakeClock = fakeClock();
  readonly heartbeater = new FakeHeartbeater();
  readonly logger = recordingLogger();
  readonly outcomes: object[] = [];
  readonly beatFailures: string[] = [];
  readonly executor: StepExecutor;

  constructor(parts: Partial<StepExecutorParts> = {}) {
    const observer: SagaObserver = {
      outcome: (outcome) => this.outcomes.push(outcome),
      heartbeatFailure: ({ reason }) => this.beatFailures.push(reason),
    };
    this.executor = new StepExecutor({
      heartbeater: this.heartbeater,
      times: { leaseDurationMs: LEASE_MS, heartbeatIntervalMs: BEAT_MS },
      clock: this.clock,
      logger: this.logger,
      observer,
      ...parts,
    });
  }

  begin(code: StepCode, fields: Partial<ClaimedStep> = {}, ageMs = 0): RunningAttempt {
    return this.executor.begin(claimedStep(fields), sagaOf(code), this.clock.now() - ageMs);
  }

  async run(code: StepCode, fields: Partial<ClaimedStep> = {}): Promise<StepResult> {
    const { result } = this.begin(code, fields);
    return result;
  }
}

/** User code that ends when its signal is aborted, as the abort. */
const untilAborted = ({ signal }: { readonly signal: AbortSignal }) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

const forEver = () => new Promise(() => undefined);
const throwing = (thrown: unknown) => () => {
  throw thrown;
};

describe('the executor', () => {
  it.each<[string, Partial<Record<keyof StepExecutorParts, unknown>>, string]>([
    ['no heartbeater', { heartbeater: undefined }, 'heartbeater is missing'],
    ['null as heartbeater', { heartbeater: null }, 'heartbeater is missing'],
    ['no clock', { clock: undefined }, 'clock is missing'],
    ['a ratio of exactly two', { times: { leaseDurationMs: 20, heartbeatIntervalMs: 10 } }, 'twice heartbeat'],
    [
      'a heartbeat longer than the lease',
      { times: { leaseDurationMs: 5, heartbeatIntervalMs: 10 } },
      'twice heartbeat',
    ],
    ['no interval', { times: { leaseDurationMs: 30, heartbeatIntervalMs: 0 } }, 'heartbeatIntervalMs must be'],
    ['no lease', { times: { leaseDurationMs: 0, heartbeatIntervalMs: 10 } }, 'leaseDurationMs must be'],
    ['a fraction', { times: { leaseDurationMs: 30.5, heartbeatIntervalMs: 10 } }, 'leaseDurationMs must be'],
    ['no grace', { abandonAfterMs: 0 }, 'abandonAfterMs must be'],
  ])('E1: refuses %s', (_what, parts, message) => {
    const make = () => new Bench(parts as Partial<StepExecutorParts>);
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ kind: 'invalid' }) as SagaError);
  });

  it('E1: takes a heartbeat that fits twice into the lease', () => {
    expect(() => new Bench({ times: { leaseDurationMs: 21, heartbeatIntervalMs: 10 } })).not.toThrow();
  });

  it('E2: returns what the step returned, after one attempt, without a heartbeat of its own', async () => {
    const bench = new Bench();
    expect(await bench.run({ run: () => ({ paid: true }) })).toEqual({ outcome: 'succeeded', output: '{"paid":true}' });
    expect(bench.heartbeater.beats).toEqual([]);
    expect(bench.outcomes).toHaveLength(1);
  });

  it('E3 (changed by W9): a failure ends the attempt at once: no backoff under a lease, no second call', async () => {
    const bench = new Bench();
    let calls = 0;
    const result = await bench.run({
      run: () => {
        calls += 1;
        throw new TaskError('CARRIER_DOWN', 'no answer');
      },
    });
    expect(result).toEqual({
      outcome: 'failed',
      failure: { code: 'CARRIER_DOWN', message: 'no answer', nodeId: 'charge' },
      retryable: true,
    });
    expect(calls).toBe(1);
    expect(bench.clock.pending).toBe(0);
  });

  it('E4: a failure is a fact, whether there is an undo or not; the undo is not called, and a warning says it all', async () => {
    for (const compensate of [null, () => calls.push('undo')]) {
      const bench = new Bench();
      const result = await bench.run({ run: throwing(new NonRetryableError('DECLINED')), compensate });
      expect(result).toMatchObject({ outcome: 'failed', retryable: false, failure: { code: 'DECLINED' } });
      expect(bench.logger.lines.at(-1)).toMatchObject({
        level: 'warn',
        fields: { attempt: 1, outcome: 'failed', code: 'DECLINED', lease_id: 'lease-1', run_id: 'run-1' },
      });
      expect(bench.logger.lines[0]).toMatchObject({ level: 'warn', fields: { err: expect.any(Error) as Error } });
    }
  });
  const calls: string[] = [];

  it('E5: a step ends by its own timeout on the injected clock: not before, yes after, and for good', async () => {
    const bench = new Bench();
    const { result } = bench.begin({ run: untilAborted }, { startToCloseMs: 5_000 });
    let ended: StepResult | undefined;
    void result.then((value) => (ended = value));
    await bench.clock.advance(4_999);
    expect(ended).toBeUndefined();
    await bench.clock.advance(1);
    expect(ended).toMatchObject({ outcome: 'expired', failure: { code: 'TIMEOUT', nodeId: 'charge' } });
    expect(bench.outcomes).toEqual([expect.objectContaining({ outcome: 'expired', attempt: 1, durationMs: 5_000 })]);
  });

  it.each<[string, (context: StepContext) => unknown, object]>([
    ['a late result', (context) => untilAborted(context).catch(() => 'late'), { outcome: 'expired' }],
    [
      'a late output that is no JSON',
      (context) => untilAborted(context).catch(() => 1n),
      { outcome: 'expired', failure: { code: 'TIMEOUT' } },
    ],
    ['a wish for a later try', (context) => untilAborted(context).catch(() => retryLater(1)), { outcome: 'expired' }],
    [
      'a failure for good',
      (context) => untilAborted(context).catch(throwing(new NonRetryableError('DECLINED'))),
      { outcome: 'failed', retryable: false },
    ],
  ])('E5: after its timeout %s is what it is', async (_what, run, expected) => {
    const bench = new Bench();
    const { result } = bench.begin({ run }, { startToCloseMs: 5_000 });
    await bench.clock.advance(5_000);
    expect(await result).toMatchObject(expected);
  });

  it('E6: a step that the run no longer wants is canceled, not failed (changed by W9: there is no backoff to cancel)', async () => {
    const bench = new Bench();
    bench.heartbeater.answer = 'cancelled';
    const { result } = bench.begin({ run: untilAborted });
    await bench.clock.advance(BEAT_MS);
    expect(await result).toEqual({ outcome: 'canceled', reason: 'cancelled', started: true });
  });

  it('E6: a step of a process that stops is canceled, not failed', async () => {
    const bench = new Bench();
    const attempt = bench.begin({ run: untilAborted });
    await settle();
    attempt.abort();
    expect(await attempt.result).toEqual({ outcome: 'canceled', reason: 'stopping', started: true });
  });

  it('E6: what a step finished before it stopped is kept (R18)', async () => {
    const bench = new Bench();
    const attempt = bench.begin({ run: (context) => untilAborted(context).catch(() => 'done') });
    await settle();
    attempt.abort();
    expect(await attempt.result).toEqual({ outcome: 'succeeded', output: '"done"' });
  });

  it('E7: a heartbeat that finds the lease gone stops the step, and nothing of it counts', async () => {
    for (const run of [untilAborted, (context: StepContext) => untilAborted(context).catch(() => 'late')]) {
      const bench = new Bench();
      const { result } = bench.begin({ run });
      await bench.clock.advance(BEAT_MS);
      bench.heartbeater.answer = 'lost';
      await bench.clock.advance(BEAT_MS);
      expect(await result).toEqual({ outcome: 'lease_lost' });
      expect(bench.beatFailures).toEqual(['stale_lease']);
    }
  });

  it('E7 (changed by W9): the lease of a long step is renewed for as long as it runs', async () => {
    const bench = new Bench();
    let finish: (value: string) => void = () => undefined;
    const { result } = bench.begin({ run: () => new Promise((resolve) => (finish = resolve)) });
    await bench.clock.advance(10 * LEASE_MS);
    expect(bench.heartbeater.beats).toHaveLength(30);
    finish('ok');
    expect(await result).toMatchObject({ outcome: 'succeeded' });
  });

  it.each<[string, unknown]>([
    ['an error', new Error('secret: password=hunter2')],
    ['a string', 'secret'],
    ['null', null],
    ['undefined', undefined],
    ['an object', { secret: true }],
    ['a BigInt', 10n],
    ['an object whose getters throw', new Proxy({}, { get: throwing(new Error('no')), getPrototypeOf: throwing(1) })],
  ])('E8: %s thrown by a step is a failure with a fixed text: its own is not recorded', async (_what, thrown) => {
    for (const run of [throwing(thrown), () => Promise.reject(thrown as Error)]) {
      const result = await new Bench().run({ run });
      expect(result).toMatchObject({ outcome: 'failed', retryable: true, failure: { code: 'STEP_FAILED' } });
      expect(JSON.stringify(result)).not.toMatch(/secret|hunter2/);
    }
  });

  it('E8: the same holds for an undo, and a logger that cannot read what was thrown changes nothing', async () => {
    const bench = new Bench();
    const warn = bench.logger.warn.bind(bench.logger);
    bench.logger.warn = (fields, message) => {
      if ('err' in fields) throw new TypeError('cannot read');
      warn(fields, message);
    };
    const result = await bench.run({ compensate: throwing(new Error('secret')) }, { kind: 'compensate' });
    expect(result).toMatchObject({ outcome: 'failed', failure: { code: 'STEP_FAILED' } });
    expect(JSON.stringify(result)).not.toMatch(/secret/);
    expect(bench.logger.lines[0]?.message).toBe('a step failed with something that cannot be logged');
  });

  it('E9: an undo gets what its own step returned, and may return anything', async () => {
    let seen: CompensateContext | undefined;
    const compensate = (context: CompensateContext) => {
      seen = context;
      return new Map();
    };
    const input = '{"input":{"input":{"id":7},"outputs":{"reserve":"r"}},"output":{"paymentId":"p"}}';
    const result = await new Bench().run({ compensate }, { kind: 'compensate', input });
    expect(result).toEqual({ outcome: 'succeeded', output: 'null' });
    expect(seen).toMatchObject({ input: { id: 7 }, outputs: { reserve: 'r' }, output: { paymentId: 'p' } });
  });

  it('E9: a failing undo fails with its own code; without an undo there is nothing to do', async () => {
    const failing = { compensate: throwing(new TaskError('BANK_DOWN', 'later')) };
    expect(await new Bench().run(failing, { kind: 'compensate' })).toMatchObject({
      outcome: 'failed',
      retryable: true,
      failure: { code: 'BANK_DOWN' },
    });
    expect(await new Bench().run({}, { kind: 'compensate' })).toEqual({ outcome: 'succeeded', output: 'null' });
  });

  it('E9 (changed by W5): an undo has a timeout of its own', async () => {
    const bench = new Bench();
    const { result } = bench.begin({ compensate: untilAborted }, { kind: 'compensate', startToCloseMs: 1_000 });
    await bench.clock.advance(1_000);
    expect(await result).toMatchObject({ outcome: 'expired' });
  });

  it('E9: tells the end of an undo in the log', async () => {
    const bench = new Bench();
    await bench.run({ compensate: throwing(new Error('x')) }, { kind: 'compensate' });
    expect(bench.logger.lines.map(({ level }) => level)).toEqual(['warn', 'warn']);
    expect(bench.logger.lines[1]?.fields).toMatchObject({ kind: 'compensate', outcome: 'failed' });
  });

  it('a step that this process has no code for is another one’s to try', async () => {
    const none: Saga = { ...sagaOf({}), steps: new Map() };
    const result = await new Bench().executor.begin(claimedStep(), none).result;
    expect(result).toMatchObject({ outcome: 'failed', retryable: true, failure: { code: 'NO_HANDLER' } });
  });
});

describe('the heartbeats of an attempt', () => {
  it('E10: come once in each interval, with the fences of the lease, and stop with the attempt: no timer is left', async () => {
    const bench = new Bench();
    let finish: (value: string) => void = () => undefined;
    const { result } = bench.begin({ run: () => new Promise((resolve) => (finish = resolve)) });
    await bench.clock.advance(3 * BEAT_MS);
    expect(bench.heartbeater.beats).toHaveLength(3);
    expect(bench.heartbeater.beats[0]).toEqual({
      lease: { runId: 'run-1', taskId: 'task-1', nodeId: 'charge', attempt: 1, leaseId: 'lease-1' },
      leaseMs: LEASE_MS,
      progress: undefined,
    });
    finish('ok');
    await result;
    expect(bench.clock.pending).toBe(0);
    await bench.clock.advance(5 * BEAT_MS);
    expect(bench.heartbeater.beats).toHaveLength(3);
  });

  it('E10: come at the interval that was configured, whatever part of the lease that is', async () => {
    const bench = new Bench({ times: { leaseDurationMs: LEASE_MS, heartbeatIntervalMs: 2_000 } });
    const attempt = bench.begin({ run: untilAborted });
    await bench.clock.advance(BEAT_MS);
    expect(bench.heartbeater.beats).toHaveLength(5);
    attempt.abort();
    await attempt.result;
  });

  it('E10: leave no timer after an abort either', async () => {
    const bench = new Bench();
    const attempt = bench.begin({ run: untilAborted }, { startToCloseMs: 60_000 });
    await settle();
    attempt.abort();
    await attempt.result;
    expect(bench.clock.pending).toBe(0);
  });

  it('E10: go on after an error of the database, sooner than usual; each is observed', async () => {
    const bench = new Bench();
    bench.heartbeater.answer = 'away';
    const attempt = bench.begin({ run: untilAborted });
    await bench.clock.advance(2 * BEAT_MS);
    expect(bench.beatFailures).toEqual(['infra_error', 'infra_error', 'infra_error']);
    bench.heartbeater.answer = 'ok';
    await bench.clock.advance(5 * BEAT_MS);
    expect(bench.outcomes).toEqual([]);
    expect(bench.heartbeater.beats).toHaveLength(8);
    attempt.abort();
    await attempt.result;
  });

  it('E11: precede a claim that is not fresh: a lost lease runs nothing, neither step nor undo', async () => {
    for (const kind of ['forward', 'compensate'] as const) {
      const bench = new Bench();
      bench.heartbeater.answer = 'lost';
      let calls = 0;
      const code = { run: () => (calls += 1), compensate: () => (calls += 1) };
      expect(await bench.begin(code, { kind }, BEAT_MS).result).toEqual({ outcome: 'lease_lost' });
      expect(calls).toBe(0);
      expect(bench.heartbeater.beats).toHaveLength(1);
      expect(bench.clock.pending).toBe(0);
    }
  });

  it('E11: that cannot be answered before a step warn, and it runs', async () => {
    for (const kind of ['forward', 'compensate'] as const) {
      const bench = new Bench();
      bench.heartbeater.answer = 'away';
      const code = { run: () => 1, compensate: () => 1 };
      expect(await bench.begin(code, { kind }, BEAT_MS).result).toMatchObject({ outcome: 'succeeded' });
      expect(bench.beatFailures).toEqual(['infra_error']);
      expect(bench.logger.lines[0]).toMatchObject({ level: 'warn' });
    }
  });

  it('E11: that find the step unwanted before it began run nothing', async () => {
    const bench = new Bench();
    bench.heartbeater.answer = 'cancelled';
    const run = jest.fn();
    expect(await bench.begin({ run }, {}, BEAT_MS).result).toEqual({
      ...{ outcome: 'canceled', reason: 'cancelled', started: false },
    });
    expect(run).not.toHaveBeenCalled();
  });

  it('E11: are needed at once where the claim is as old as its lease, and then the answer rules', async () => {
    const bench = new Bench();
    bench.heartbeater.answer = 'never';
    const { result } = bench.begin({ run: () => 1 }, {}, LEASE_MS - 1);
    await bench.clock.advance(1);
    expect(await result).toEqual({ outcome: 'lease_lost' });
  });

  it('E12: whose code is broken end the attempt as lease lost, and the log says so', async () => {
    const bench = new Bench();
    bench.heartbeater.answer = 'broken';
    const { result } = bench.begin({ run: untilAborted });
    await bench.clock.advance(BEAT_MS);
    expect(await result).toEqual({ outcome: 'lease_lost' });
    expect(bench.logger.lines[0]).toMatchObject({ level: 'error', message: 'the heartbeat of a step is broken' });
  });

  it('E13: change nothing of how a step ends: nothing stays nothing, its own failure stays its own', async () => {
    const late = (end: () => unknown) => async (context: StepContext) => {
      await untilAborted(context).catch(() => undefined);
      return end();
    };
    const bench = new Bench();
    expect(await bench.run({ run: () => undefined })).toEqual({ outcome: 'succeeded', output: 'null' });
    const failing = bench.begin({ run: late(throwing(new NonRetryableError('DECLINED'))) });
    await settle();
    failing.abort();
    expect(await failing.result).toMatchObject({ outcome: 'failed', failure: { code: 'DECLINED' } });
    bench.heartbeater.answer = 'lost';
    const lost = bench.begin({ run: late(() => undefined) });
    await bench.clock.advance(BEAT_MS);
    expect(await lost.result).toEqual({ outcome: 'lease_lost' });
  });

  it('carry the progress of a step to its next attempt', async () => {
    const bench = new Bench();
    const attempt = bench.begin({
      run: (context) => {
        expect(context.lastProgress).toEqual({ page: 1 });
        context.heartbeat({ page: 2 });
        return untilAborted(context);
      },
    }, { progress: '{"page":1}' }); // prettier-ignore
    await bench.clock.advance(BEAT_MS);
    expect(bench.heartbeater.beats[0]?.progress).toBe('{"page":2}');
    attempt.abort();
    await attempt.result;
  });
});

describe('what is observed of an attempt', () => {
  it.each<[string, StepCode, string]>([
    ['success', { run: () => 1 }, 'succeeded'],
    ['failure', { run: throwing(new Error('x')) }, 'failed'],
    ['a later try', { run: () => retryLater(5) }, 'canceled'],
  ])('E14: exactly one outcome for %s, with its ids, step and attempt', async (_what, code, outcome) => {
    const bench = new Bench();
    await bench.run(code, { attempt: 4 });
    expect(bench.outcomes).toEqual([
      { runId: 'run-1', sagaId: 'order', step: 'charge', kind: 'forward', attempt: 4, outcome, durationMs: 0 },
    ]);
  });

  it('E14: one outcome when it is canceled or given up', async () => {
    const bench = new Bench();
    const attempt = bench.begin({ run: forEver });
    await settle();
    attempt.abort();
    await bench.clock.advance(10_000);
    await attempt.result;
    expect(bench.outcomes).toEqual([expect.objectContaining({ outcome: 'canceled' })]);
  });

  it('E14: without an observer nothing is missing', async () => {
    const bench = new Bench({ observer: undefined } as never);
    expect(await bench.run({ run: () => 1 })).toMatchObject({ outcome: 'succeeded' });
  });
});

describe('what is recorded of an attempt', () => {
  it('C21: the message of a TaskError, cut to 256 bytes at a whole character', async () => {
    const result = await new Bench().run({ run: throwing(new TaskError('X', '€'.repeat(300))) });
    const message = result.outcome === 'failed' ? result.failure.message : '';
    expect(message).toBe('€'.repeat(85));
    const pairs = await new Bench().run({ run: throwing(new TaskError('X', '😀'.repeat(300))) });
    expect(pairs).toMatchObject({ failure: { message: '😀'.repeat(64) } });
  });

  it.each<[string, () => unknown]>([
    ['a BigInt', () => ({ n: 1n })],
    ['a function', () => () => 1],
    [
      'a cycle',
      () => {
        const loop: Record<string, unknown> = {};
        loop['self'] = loop;
        return loop;
      },
    ],
    ['5 MB', () => 'x'.repeat(5_000_000)],
    ['a secret in its toJSON', () => ({ toJSON: throwing(new Error('secret')) })],
  ])('W8: an output with %s fails the step for good, before anything is written of it', async (_what, run) => {
    const result = await new Bench().run({ run });
    expect(result).toMatchObject({ outcome: 'failed', retryable: false, failure: { code: 'OUTPUT_INVALID' } });
    expect(JSON.stringify(result)).not.toMatch(/secret/);
  });

  it('a later try is not a failure, thrown or returned', async () => {
    for (const run of [() => retryLater(1_500), throwing(retryLater(1_500))]) {
      expect(await new Bench().run({ run })).toEqual({ outcome: 'canceled', reason: 'deferred', delayMs: 1_500 });
    }
  });
});
