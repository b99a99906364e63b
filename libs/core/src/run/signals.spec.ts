import { chain, definition, outputOf, task, wait } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';
import { MAX_BUFFERED_SIGNALS } from './policy.js';

describe('signals', () => {
  it('a wait takes its signal: the payload is its output, byte for byte', () => {
    const run = new FakeRun(definition(chain(wait('paid'), task('ship', { input: outputOf('paid') })))).start();
    expect(run.signal('paid', '{"n": 1e2}')).toMatchObject({ kind: 'applied', signalDelivered: true });
    expect(run.status('paid')).toBe('SUCCEEDED');
    expect(run.inputOf('ship')).toBe('{"n": 1e2}');
  });

  it('B47: a signal that comes before its wait is kept, and consumed in the decision that opens it', () => {
    const dag = definition(chain(task('t1'), wait('waitA', { signal: 'A' }), wait('waitB', { signal: 'B' })));
    const run = new FakeRun(dag).start();
    expect(run.signal('B', '{"b":1}')).toMatchObject({ signalDelivered: false });
    expect(run.state.bufferedSignals).toBe(1);
    run.complete('t1');
    run.signal('A');
    expect(run.state).toMatchObject({ status: 'SUCCEEDED', bufferedSignals: 0 });
    expect(run.outputOf('waitB')).toBe('{"b":1}');
  });

  it('B49: two signals of one name go to two waits in the order of their arrival', () => {
    const dag = definition(
      chain(task('t'), wait('w1', { signal: 'paid' }), wait('w2', { signal: 'paid' }), task('end')),
    );
    const run = new FakeRun(dag).start();
    run.signal('paid', '"s1"');
    run.signal('paid', '"s2"');
    run.complete('t');
    expect([run.outputOf('w1'), run.outputOf('w2')]).toEqual(['"s1"', '"s2"']);
  });

  it('B49: a second signal with no wait for it stays buffered', () => {
    const run = new FakeRun(definition(chain(wait('w', { signal: 'paid' }), task('end')))).start();
    run.signal('paid', '"s1"');
    run.signal('paid', '"s2"');
    expect(run.state.bufferedSignals).toBe(1);
  });

  it('two waits that open in one decision take different signals', () => {
    const dag = definition([
      task('t'),
      wait('w1', { after: ['t'], signal: 'paid' }),
      wait('w2', { after: ['t'], signal: 'paid' }),
    ]);
    const run = new FakeRun(dag).start();
    run.signal('paid', '"s1"');
    run.complete('t');
    expect([run.status('w1'), run.status('w2')]).toEqual(['SUCCEEDED', 'WAITING']);
  });

  it('B50: a known id is a duplicate, before and after it was consumed; another payload is a conflict', () => {
    const run = new FakeRun(definition(chain(task('t'), wait('paid')))).start();
    run.signal('paid', '{}', 'evt-1');
    expect(run.signal('paid', '{}', 'evt-1')).toMatchObject({ kind: 'ignored', duplicate: true, actions: [] });
    run.complete('t');
    expect(run.state.status).toBe('SUCCEEDED');
    expect(run.signal('paid', '{}', 'evt-1')).toMatchObject({ kind: 'ignored', duplicate: true });
    expect(run.signal('paid', '{"x":1}', 'evt-1')).toMatchObject({
      kind: 'refused',
      refusal: { code: 'SIGNAL_CONFLICT' },
    });
  });

  it('R32: an ended run takes no new signal', () => {
    const run = new FakeRun(definition([task('t')])).start();
    run.signal('paid', '{}', 'before');
    run.complete('t');
    expect(run.signal('paid')).toMatchObject({ kind: 'refused', refusal: { code: 'RUN_TERMINAL' } });
    // What it holds it knows: the sender may have missed the first answer.
    expect(run.signal('paid', '{}', 'before')).toMatchObject({ kind: 'ignored', duplicate: true });
  });

  it('R32: a run holds so many signals and no more', () => {
    const run = new FakeRun(definition(chain(task('t'), wait('paid')))).start();
    run.state = { ...run.state, bufferedSignals: MAX_BUFFERED_SIGNALS };
    expect(run.signal('paid')).toMatchObject({ kind: 'refused', refusal: { code: 'TOO_MANY_SIGNALS' } });
  });

  it('R32: signals that have expired make room, and stay known', () => {
    const run = new FakeRun(definition(chain(task('t'), wait('paid')))).start();
    run.signal('paid', '"old"', 'old', 1_000);
    run.signal('paid', '"kept"', 'kept');
    run.state = { ...run.state, bufferedSignals: MAX_BUFFERED_SIGNALS };
    expect(run.signal('paid', '{}', 'early')).toMatchObject({ refusal: { code: 'TOO_MANY_SIGNALS' } });
    run.store.now += 1_000;
    expect(run.signal('paid', '"new"', 'new')).toMatchObject({ kind: 'applied', signalDelivered: false });
    expect(run.state.bufferedSignals).toBe(MAX_BUFFERED_SIGNALS);
    expect(run.signal('paid', '"old"', 'old')).toMatchObject({ kind: 'ignored', duplicate: true });
    expect(run.signal('paid', '{}', 'more')).toMatchObject({ refusal: { code: 'TOO_MANY_SIGNALS' } });
    run.complete('t');
    expect(run.outputOf('paid')).toBe('"kept"');
  });

  it('a signal that expired before a wait read it is not delivered', () => {
    const run = new FakeRun(definition(chain(task('t'), wait('paid')))).start();
    run.signal('paid', '{}', 's1', 1_000);
    run.store.now += 1_000;
    run.complete('t');
    expect(run.status('paid')).toBe('WAITING');
  });

  it('while the run is undone a signal is kept, and nothing is delivered', () => {
    const run = new FakeRun(definition([task('t', { compensate: true }), wait('paid', { after: ['t'] })])).start();
    run.complete('t');
    run.cancel();
    expect(run.signal('paid')).toMatchObject({ kind: 'applied', signalDelivered: false });
    expect(run.status('paid')).toBe('CANCELLED');
  });
});

describe('a wait against its timeout (B52)', () => {
  const dag = definition(chain(wait('paid', { timeoutMs: 10_000 }), task('ship')));

  it('signal first: the timer goes in the same decision', () => {
    const run = new FakeRun(dag).start();
    const { timerId } = run.timer('wait-timeout');
    run.signal('paid');
    expect(run.store.timers.size).toBe(0);
    run.store.now += 10_000;
    expect(run.handle({ type: 'TimerFired', timerId })).toMatchObject({ kind: 'ignored', actions: [] });
    expect(run.status('ship')).toBe('SCHEDULED');
  });

  it('timeout first: the run fails, and the signal finds it ended', () => {
    const run = new FakeRun(dag).start();
    run.fire('wait-timeout');
    expect(run.status('paid')).toBe('TIMED_OUT');
    expect(run.state).toMatchObject({ status: 'FAILED', failure: { code: 'WAIT_TIMEOUT', nodeId: 'paid' } });
    expect(run.signal('paid')).toMatchObject({ kind: 'refused', refusal: { code: 'RUN_TERMINAL' } });
  });

  it('R21: a timer that is early stays, one that is stale is consumed', () => {
    const run = new FakeRun(dag).start();
    const timer = run.timer('wait-timeout');
    expect(run.handle({ type: 'TimerFired', timerId: timer.timerId })).toMatchObject({ kind: 'ignored', actions: [] });
    run.signal('paid');
    run.store.timers.set(timer.timerId, timer); // as if the row had survived
    run.store.now += 10_000;
    expect(run.handle({ type: 'TimerFired', timerId: timer.timerId })).toMatchObject({
      kind: 'ignored',
      actions: [{ type: 'ClearTimers', which: { scope: 'id', timerId: timer.timerId } }],
    });
    expect(run.store.timers.size).toBe(0);
  });

  it('R15: the timeout of an earlier generation does not end the wait of a later one', () => {
    const run = new FakeRun(dag).start();
    const old = run.timer('wait-timeout');
    run.cancel();
    run.retry();
    run.store.timers.set(old.timerId, old);
    run.store.now += 10_000;
    expect(run.handle({ type: 'TimerFired', timerId: old.timerId })).toMatchObject({ kind: 'ignored' });
    expect(run.task('paid')).toMatchObject({ status: 'WAITING', generation: 2 });
  });

  it('B45: a cancel removes the timer of an open wait', () => {
    const run = new FakeRun(dag).start();
    const { timerId } = run.timer('wait-timeout');
    run.cancel();
    expect(run.state.status).toBe('CANCELLED');
    expect(run.store.timers.size).toBe(0);
    expect(run.handle({ type: 'TimerFired', timerId })).toMatchObject({ kind: 'ignored', actions: [] });
  });
});
