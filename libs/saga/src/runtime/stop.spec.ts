import { SagaError } from '../journal/errors.js';
import type { LeaderGate } from './parts.js';
import { settle } from '../testing/fake-clock.js';
import { runtimeFixture, succeeded } from './testing/runtime-fixture.js';

/** A gate that grants every lock and writes down what becomes of it. */
function openGate() {
  const events: string[] = [];
  const gate: LeaderGate = {
    mode: 'leader_elect',
    acquireLead: ({ runId }) => {
      events.push(`acquire ${runId}`);
      return Promise.resolve({
        release: () => Promise.resolve(void events.push(`release ${runId}`)),
        orphan: () => void events.push(`orphan ${runId}`),
      });
    },
  };
  return { gate, events };
}

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('stopping', () => {
  it('C20: lets running steps finish, records them, and takes nothing more', async () => {
    const { runtime, journal, runner, logger } = runtimeFixture();
    journal.add('a', 'b');
    await runtime.start();
    await settle();
    journal.add('x');
    const stopped = runtime.stop();
    runtime.kick();
    await settle();
    runner.finish('a');
    await stopped;
    expect(journal.appended).toEqual([
      { step: 'a', report: { kind: 'step_completed', output: 'null' }, take: undefined },
    ]);
    expect(runner.names).toEqual(['a']);
    expect(logger.lines.at(-1)?.message).toBe('the saga runtime has stopped');
  });

  it('R13: what a claim or an append still brings is given back unstarted, for others to take at once', async () => {
    const { runtime, journal, runner } = runtimeFixture();
    journal.add('a', 'b');
    await runtime.start();
    await settle();
    let open = () => undefined as void;
    journal.gate = new Promise((resolve) => (open = resolve));
    runner.finish('a');
    journal.add('x');
    runtime.kick();
    await settle();
    const stopped = runtime.stop();
    await settle();
    open();
    await stopped;
    expect(runner.names).toEqual(['a']);
    const given = journal.appended.filter(({ report }) => report.kind === 'step_released');
    expect(given.map(({ step }) => step).sort()).toEqual(['b', 'x']);
    expect(given.every(({ report }) => 'notStarted' in report && report.notStarted)).toBe(true);
    expect(journal.waiting.map(({ nodeId }) => nodeId).sort()).toEqual(['b', 'x']);
  });

  it('R13: a start that is under way is waited for: the step that it brings is given back before the stop is over', async () => {
    const { runtime, journal } = runtimeFixture();
    await runtime.start();
    await settle();
    const slot = runtime.reserve();
    let isStopped = false;
    const stopped = runtime.stop().then(() => (isStopped = true));
    await settle();
    expect(isStopped).toBe(false);
    journal.add('a');
    slot?.settle(await journal.claimPending({ limit: 1, leaseMs: 1_000 }));
    await stopped;
    expect(journal.appended.map(({ report }) => report)).toEqual([{ kind: 'step_released', notStarted: true }]);
  });

  it('C20: at the deadline it aborts, gives back what reacts, and says so with SAGA_STOP_TIMEOUT', async () => {
    const { runtime, journal, runner, clock } = runtimeFixture();
    journal.add('slow');
    await runtime.start();
    await settle();
    const failed = failureOf(runtime.stop(5_000));
    await clock.advance(4_999);
    expect(runner.begun[0]?.isAborted).toBe(false);
    await clock.advance(1);
    const error = (await failed) as SagaError;
    expect(runner.begun[0]?.isAborted).toBe(true);
    expect(error).toMatchObject({ kind: 'deadline', code: 'SAGA_STOP_TIMEOUT' });
    expect(error.details).toMatchObject([{ code: 'GIVEN_BACK', pointer: '/runs/run-1/steps/slow' }]);
    expect(journal.appended.map(({ report }) => report)).toEqual([{ kind: 'step_released', notStarted: false }]);
    expect(runtime.state).toBe('stopped');
  });

  it('C20: names what does not end, writes nothing of it, and can be started again with all its slots', async () => {
    const { runtime, journal, runner, clock } = runtimeFixture({ concurrency: 1 });
    runner.reactsToAbort = false;
    journal.add('wedged');
    await runtime.start();
    await settle();
    const failed = failureOf(runtime.stop(100));
    await clock.advance(2_000);
    const error = (await failed) as SagaError;
    expect(error.message).toContain('step wedged of order, run run-1 (still running)');
    expect(error.details).toMatchObject([{ code: 'STILL_RUNNING' }]);
    journal.add('next');
    await runtime.start();
    await settle();
    expect(runner.names).toEqual(['wedged', 'next']);
    runner.finish('wedged');
    runner.finish('next');
    await settle();
    expect(journal.appended.map(({ step }) => step)).toEqual(['next']);
    await runtime.stop();
    expect(clock.pending).toBe(0);
  });

  it('C20: a report that cannot be delivered does not hold up the end of the time', async () => {
    const { runtime, journal, runner, clock } = runtimeFixture();
    journal.add('a');
    await runtime.start();
    await settle();
    for (let n = 0; n < 50; n += 1) journal.appendFaults.push(new SagaError('unavailable', 'UNAVAILABLE', 'gone'));
    runner.finish('a');
    const failed = failureOf(runtime.stop(1_000));
    await clock.advance(3_000);
    expect(await failed).toMatchObject({ code: 'SAGA_STOP_TIMEOUT' });
  });

  it('a role that cannot be given up does not keep it from stopping', async () => {
    const role = {
      hold: () => Promise.resolve(true),
      isActive: true,
      release: () => Promise.reject(new Error('gone')),
    };
    const { runtime, logger } = runtimeFixture({ parts: { role } });
    await runtime.start();
    await runtime.stop();
    expect(logger.of('warn')).toContain('the role of the due loop could not be given up; it ends by itself');
  });
});

describe('locks', () => {
  it('L4: a held lock means no lease at all (W2); a free one is held while the run is driven, and released', async () => {
    const { gate, events } = openGate();
    const contended: LeaderGate = {
      ...gate,
      acquireLead: (run) => (run.runId === 'run-1' ? Promise.resolve(null) : gate.acquireLead(run)),
    };
    const { runtime, journal, runner, kicks } = runtimeFixture({ gate: contended });
    journal.add('mine-not');
    const free = journal.add('mine', 'mine too');
    await runtime.start();
    await settle();
    expect(runner.names).toEqual(['mine']);
    expect(journal.waiting.map(({ nodeId }) => nodeId)).toEqual(['mine-not']);
    runner.finish('mine');
    await settle();
    expect(events).toEqual([`acquire ${free}`]);
    runner.finish('mine too');
    await settle();
    expect(events).toEqual([`acquire ${free}`, `release ${free}`]);
    expect(kicks.relay).toBe(2);
    await runtime.stop();
  });

  it('W2: a lock whose step somebody else has taken meanwhile is released at once', async () => {
    const { gate, events } = openGate();
    const { runtime, journal } = runtimeFixture({ gate });
    const runId = journal.add('a');
    journal.claimOne = () => Promise.resolve(null);
    await runtime.start();
    await settle();
    expect(events).toEqual([`acquire ${runId}`, `release ${runId}`]);
    await runtime.stop();
  });

  it('L4: no step is taken with a start, since its lock would come after its lease', async () => {
    const { runtime } = runtimeFixture({ gate: openGate().gate });
    await runtime.start();
    expect(runtime.reserve()).toBeNull();
    await runtime.stop();
  });

  it.each([
    ['wedged', false],
    ['woken by the abort', true],
  ])('L7: the lock of a step that is %s is orphaned before the abort and never released', async (_what, reacts) => {
    const { gate, events } = openGate();
    const { runtime, journal, runner, clock } = runtimeFixture({ gate });
    runner.reactsToAbort = reacts;
    const runId = journal.add('a');
    await runtime.start();
    await settle();
    const failed = failureOf(runtime.stop(100));
    await clock.advance(5_000);
    expect(await failed).toMatchObject({ code: 'SAGA_STOP_TIMEOUT' });
    runner.finish('a', succeeded);
    await settle();
    expect(events).toEqual([`acquire ${runId}`, `orphan ${runId}`]);
  });
});
