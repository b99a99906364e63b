import { SagaError } from '../journal/errors.js';
import { settle } from '../testing/fake-clock.js';
import { runtimeFixture, sagaOf, succeeded, resolverOf } from './testing/runtime-fixture.js';

const codeOf = async (call: Promise<unknown>): Promise<unknown> => {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof SagaError ? { kind: error.kind, code: error.code } : error;
};

describe('the life of a runtime', () => {
  it('C3: a second start is a conflict, a second stop is fine, and it starts again', async () => {
    const { runtime } = runtimeFixture();
    await runtime.start();
    expect(await codeOf(runtime.start())).toEqual({ kind: 'conflict', code: 'ALREADY_STARTED' });
    const stops = [runtime.stop(), runtime.stop()];
    expect(runtime.state).toBe('stopping');
    expect(await codeOf(runtime.start())).toEqual({ kind: 'conflict', code: 'ALREADY_STARTED' });
    await Promise.all(stops);
    await runtime.stop();
    await runtime.start();
    expect(runtime.isRunning).toBe(true);
    await runtime.stop();
  });

  it('C3: ready implies running, and is another promise after a stop', async () => {
    const { runtime } = runtimeFixture();
    const first = runtime.ready;
    const states: string[] = [];
    void first.then(() => states.push(runtime.state));
    await runtime.start();
    await first;
    expect(states).toEqual(['running']);
    await runtime.stop();
    expect(runtime.ready).not.toBe(first);
    void runtime.ready.then(() => states.push(runtime.state));
    await settle();
    expect(states).toEqual(['running']);
    await runtime.start();
    await settle();
    expect(states).toEqual(['running', 'running']);
    await runtime.stop();
  });

  it('C3: a start that fails leaves it stopped, and a stop during a start stops what has started', async () => {
    let fails = true;
    const prepare = () => (fails ? Promise.reject(new Error('no database')) : Promise.resolve());
    const { runtime } = runtimeFixture({ parts: { prepare } });
    await expect(runtime.start()).rejects.toThrow('no database');
    expect(runtime.state).toBe('stopped');
    fails = false;
    const started = runtime.start();
    await runtime.stop();
    await started;
    expect(runtime.state).toBe('stopped');
  });

  it('C4: before the start it is unavailable; then it is as ready as the journal', async () => {
    const { runtime, journal } = runtimeFixture();
    expect(await codeOf(runtime.repoReady())).toEqual({ kind: 'unavailable', code: 'SAGA_NOT_RUNNING' });
    await runtime.start();
    await runtime.repoReady();
    journal.ready = new SagaError('internal', 'SCHEMA', 'a table is missing');
    expect(await codeOf(runtime.repoReady())).toEqual({ kind: 'internal', code: 'SCHEMA' });
    await runtime.stop();
    expect(await codeOf(runtime.repoReady())).toEqual({ kind: 'unavailable', code: 'SAGA_NOT_RUNNING' });
  });

  it('L5: says at the start whether locks come before leases', async () => {
    const { runtime, logger } = runtimeFixture();
    await runtime.start();
    expect(logger.lines[0]).toMatchObject({ level: 'warn', mode: 'unsafe_no_leader', sagas: ['order@1'] });
    await runtime.stop();
    const led = runtimeFixture({ gate: { mode: 'leader_elect', acquireLead: () => Promise.resolve(null) } });
    await led.runtime.start();
    expect(led.logger.lines[0]).toMatchObject({ level: 'info', mode: 'leader_elect' });
    await led.runtime.stop();
  });
});

describe('looking for steps', () => {
  it('happens at the start, when kicked and once in each poll interval', async () => {
    const { runtime, journal, clock } = runtimeFixture({ config: { pollIntervalMs: 200 } });
    await runtime.start();
    await settle();
    expect(journal.claims).toHaveLength(1);
    runtime.kick();
    await settle();
    expect(journal.claims).toHaveLength(2);
    await clock.advance(199);
    expect(journal.claims).toHaveLength(2);
    await clock.advance(1);
    expect(journal.claims).toHaveLength(3);
    await runtime.stop();
    runtime.kick();
    await clock.advance(1_000);
    expect(journal.claims).toHaveLength(3);
  });

  it('W20: concurrency and claim size are two knobs, and a wedged step holds up its own slot alone', async () => {
    const { runtime, journal, runner } = runtimeFixture({ concurrency: 3, config: { claimBatchSize: 2 } });
    for (let run = 0; run < 6; run += 1) journal.add(`s${run}`);
    await runtime.start();
    await settle();
    expect(runner.names).toEqual(['s0', 's1', 's2']);
    expect(journal.claims).toEqual([2, 1]);
    for (const name of ['s1', 's2', 's3', 's4', 's5']) {
      runner.finish(name);
      await settle();
    }
    expect(runner.names).toEqual(['s0', 's1', 's2', 's3', 's4', 's5']);
    expect(Math.max(...journal.claims)).toBeLessThanOrEqual(2);
    runner.finish('s0');
    await runtime.stop();
  });

  it('C19: all that is claimed runs at once, bounded by concurrency, with one observation for each drive', async () => {
    const { runtime, journal, runner, observer } = runtimeFixture({ concurrency: 4 });
    for (let run = 0; run < 10; run += 1) journal.add(`s${run}`);
    await runtime.start();
    await settle();
    expect(runner.begun).toHaveLength(4);
    runner.result = succeeded;
    for (const { end } of runner.begun.slice()) end(succeeded);
    await settle();
    expect(runner.begun).toHaveLength(10);
    expect(observer.of('drive').map(({ runId }) => runId)).toHaveLength(10);
    expect(new Set(observer.of('drive').map(({ runId }) => runId)).size).toBe(10);
    await runtime.stop();
  });

  it('C22: each look is observed: empty, claimed, error; and an error is looked at again', async () => {
    const { runtime, journal, observer, clock, runner } = runtimeFixture({ config: { pollIntervalMs: 200 } });
    journal.claimFaults.push(new Error('connection reset'));
    runner.result = succeeded;
    await runtime.start();
    await settle();
    journal.add('a');
    await clock.advance(1_000);
    const results = observer.of('tick').map(({ result }) => result);
    expect(results.slice(0, 2)).toEqual(['error', 'claimed']);
    expect(results.slice(2).every((result) => result === 'empty')).toBe(true);
    await runtime.stop();
  });

  it('2.5: a tick looks once, whatever the poll interval; a runtime that does not run looks at nothing', async () => {
    const { runtime, journal, runner } = runtimeFixture();
    expect(await codeOf(runtime.tick())).toEqual({ kind: 'unavailable', code: 'SAGA_NOT_RUNNING' });
    await runtime.start();
    await settle();
    journal.add('a');
    await settle();
    expect(runner.names).toEqual([]);
    expect(await runtime.tick()).toEqual({ claimed: 1 });
    expect(runner.names).toEqual(['a']);
    runner.finish('a');
    await runtime.stop();
  });
});

describe('driving', () => {
  it('W1: the commit of one step hands the next to the same driver', async () => {
    const { runtime, journal, runner, observer } = runtimeFixture();
    journal.add('a', 'b', 'c');
    await runtime.start();
    await settle();
    for (const name of ['a', 'b', 'c']) {
      runner.finish(name);
      await settle();
    }
    expect(runner.names).toEqual(['a', 'b', 'c']);
    expect(journal.claims).toEqual([4]);
    expect(observer.of('drive')).toMatchObject([{ result: 'ok', steps: 3, sagaId: 'order' }]);
    await runtime.stop();
  });

  it('takes into free slots what a commit makes runnable side by side', async () => {
    const fan = sagaOf({ a: [], b: ['a'], c: ['a'], d: ['b', 'c'] });
    const { runtime, journal, runner } = runtimeFixture({ saga: fan, concurrency: 2 });
    journal.add('a');
    await runtime.start();
    await settle();
    runner.finish('a');
    await settle();
    expect(journal.appended[0]?.take).toMatchObject({ max: 2 });
    await runtime.stop();
  });

  it('the first step is taken with the start when a slot is free, and only then', async () => {
    const { runtime, journal, runner } = runtimeFixture({ concurrency: 1 });
    expect(runtime.reserve()).toBeNull();
    await runtime.start();
    await settle();
    const slot = runtime.reserve();
    expect(slot?.take).toEqual({ max: 1, leaseMs: 30_000 });
    expect(runtime.reserve()).toBeNull();
    journal.add('a');
    slot?.settle(await journal.claimPending({ limit: 1, leaseMs: 1 }));
    await settle();
    expect(runner.names).toEqual(['a']);
    runner.finish('a');
    await settle();
    runtime.reserve()?.settle([]);
    const last = runtime.reserve();
    expect(last).not.toBeNull();
    last?.settle([]);
    await runtime.stop();
  });

  it('C11: cancel and lease loss write no terminal, and are no errors', async () => {
    const { runtime, journal, runner, observer } = runtimeFixture();
    journal.add('a');
    await runtime.start();
    await settle();
    runner.finish('a', { outcome: 'lease_lost' });
    await settle();
    expect(journal.appended).toEqual([]);
    journal.add('b');
    runtime.kick();
    await settle();
    runner.finish('b', { outcome: 'canceled', reason: 'cancelled', started: true });
    await settle();
    expect(journal.appended.map(({ report }) => report)).toEqual([{ kind: 'step_released', notStarted: false }]);
    expect(observer.of('drive')).toMatchObject([{ result: 'ok' }, { result: 'ok' }]);
    await runtime.stop();
  });

  it('C16: a transient error of an append is repeated while the lease may live, then told', async () => {
    const { runtime, journal, runner, observer, clock, logger } = runtimeFixture();
    journal.add('a', 'b');
    await runtime.start();
    await settle();
    journal.appendFaults.push(new SagaError('unavailable', 'UNAVAILABLE', 'gone'), new Error('odd'));
    runner.finish('a');
    await clock.advance(500);
    expect(runner.names).toEqual(['a', 'b']);
    expect(logger.of('warn').filter((line) => line.includes('repeated'))).toHaveLength(2);
    for (let n = 0; n < 100; n += 1) journal.appendFaults.push(new SagaError('unavailable', 'UNAVAILABLE', 'gone'));
    runner.finish('b');
    await clock.advance(29_000);
    expect(observer.of('drive')).toEqual([]);
    await clock.advance(5_000);
    expect(observer.of('drive')).toMatchObject([{ result: 'error', steps: 2 }]);
    expect(logger.of('error')).toEqual([
      'a report could not be recorded: the step will be run again when its lease is over',
    ]);
    expect(logger.lines.at(-1)).toMatchObject({ run_id: 'run-1', step: 'b', attempt: 1 });
    expect(logger.lines.at(-1)).toHaveProperty('lease_id');
    await runtime.stop();
  });

  it('C16: a stale lease at the append is told as news, not as an error', async () => {
    const { runtime, journal, runner, logger } = runtimeFixture();
    journal.add('a');
    await runtime.start();
    await settle();
    journal.revoke();
    runner.finish('a');
    await settle();
    expect(logger.lines.at(-1)).toMatchObject({ level: 'info', step: 'a' });
    expect(logger.of('error')).toEqual([]);
    await runtime.stop();
  });

  it('R8: a report that is refused because its run is stuck is not repeated', async () => {
    const { runtime, journal, runner, observer, logger } = runtimeFixture();
    journal.add('a');
    await runtime.start();
    await settle();
    journal.appendFaults.push(new SagaError('conflict', 'RUN_STUCK', 'somebody must look'));
    runner.finish('a');
    await settle();
    expect(journal.appended).toEqual([]);
    expect(observer.of('drive')).toMatchObject([{ result: 'error' }]);
    expect(logger.of('error')).toHaveLength(1);
    await runtime.stop();
  });

  it('R8: content that cannot be stored fails the attempt, once, and nothing else', async () => {
    const { runtime, journal, runner, observer } = runtimeFixture();
    journal.add('a');
    await runtime.start();
    await settle();
    journal.appendFaults.push(new SagaError('invalid', 'INVALID', 'the output is not JSON'));
    runner.finish('a');
    await settle();
    expect(journal.appended.map(({ report }) => report)).toMatchObject([
      { kind: 'step_failed', retryable: false, failure: { code: 'REPORT_REJECTED', nodeId: 'a' } },
    ]);
    expect(observer.of('drive')).toMatchObject([{ result: 'ok' }]);
    await runtime.stop();
  });

  it('C22: a runner that breaks its word ends one drive with an error, and the slot comes back', async () => {
    const broken = {
      begin: () => ({ result: Promise.reject(new Error('never rejects, it said')), abort: () => undefined }),
    };
    const { runtime, journal, observer } = runtimeFixture({ concurrency: 1, parts: { runner: broken } });
    journal.add('a');
    journal.add('b');
    await runtime.start();
    await settle();
    expect(observer.of('drive')).toMatchObject([{ result: 'error' }, { result: 'error' }]);
    await runtime.stop();
  });

  it('W12: a step of a saga that is not known here is neither run nor reported', async () => {
    const { runtime, journal, runner, logger } = runtimeFixture({ parts: { resolver: resolverOf() } });
    journal.add('a');
    await runtime.start();
    await settle();
    expect([runner.names, journal.appended]).toEqual([[], []]);
    expect(logger.of('error')).toEqual(['a step of an unknown saga was claimed']);
    await runtime.stop();
  });
});
