import { chain, definition, task } from '../testing/definitions.js';
import type { TaskOptions } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';
import type { Action } from './actions.js';

/** pay beside mail. */
function payBesideMail(mail: TaskOptions = { compensate: true }): FakeRun {
  return new FakeRun(definition([task('pay'), task('mail', mail)])).start();
}

/** mail is out with a worker when pay fails. */
function cutOff(mail: TaskOptions = { compensate: true }): FakeRun {
  const run = payBesideMail(mail).lease('mail');
  run.fail('pay');
  expect(run.task('mail')).toMatchObject({ status: 'SCHEDULED', cutOff: true });
  return run;
}

describe('an unknown outcome (R17)', () => {
  /** What may come after an attempt of unknown outcome without making it known. */
  const unknowing: Readonly<Record<string, (run: FakeRun) => void>> = {
    'a definite failure': (run) => void run.lease('mail').fail('mail', 'DECLINED', { retryable: true }),
    'an attempt that was given back before it began': (run) => void run.lease('mail').release('mail', false),
    'an attempt that is to come later': (run) => void run.lease('mail').defer('mail', 1_000),
    'a redispatch': (run) => void run.wakeAfter(300_000, 'mail'),
    'another lost lease': (run) => void run.lease('mail').wakeAfter(30_000, 'mail'),
  };

  it.each(Object.keys(unknowing))('outlasts %s, and its step is undone', (what) => {
    const run = payBesideMail().lease('mail');
    run.wakeAfter(30_000, 'mail');
    expect(run.task('mail').unknownOutcome).toBe(true);
    unknowing[what]?.(run);
    expect(run.task('mail').unknownOutcome).toBe(true);
    run.fail('pay');
    expect(run.status('mail', 'compensate')).toBe('SCHEDULED');
  });

  it('is ended by a success alone, which is undone as what it is', () => {
    const run = payBesideMail({ compensate: true, compensateOn: ['UNKNOWN'] }).lease('mail');
    run.wakeAfter(30_000, 'mail');
    run.lease('mail').complete('mail');
    expect(run.task('mail')).toMatchObject({ status: 'SUCCEEDED', unknownOutcome: false });
    run.fail('pay');
    expect(run.has('mail', 'compensate')).toBe(false);
  });

  it.each(['OUTPUT_INVALID', 'REPORT_REJECTED', 'TIMEOUT'])(
    'W3, W8: is that of a step that ran and whose result could not be kept, or did not come in time (%s): it is undone',
    (code) => {
      const run = new FakeRun(definition(chain(task('pay'), task('mail', { compensate: true })))).start();
      run.complete('pay');
      run.lease('mail').fail('mail', code, { retryable: false });
      expect(run.task('mail')).toMatchObject({ status: 'FAILED', unknownOutcome: true });
      expect(run.status('mail', 'compensate')).toBe('SCHEDULED');
      expect(run.inputOf('mail', 'compensate')).toBe('{"input":{},"output":null}');
      run.complete('mail', '{}', { kind: 'compensate' });
      expect(run.state).toMatchObject({ status: 'COMPENSATED', failure: { code, nodeId: 'mail' } });
    },
  );

  it('W8: of a result that could not be kept is ended by a later attempt whose result was', () => {
    const run = new FakeRun(definition(chain(task('mail', { compensate: true }), task('pay')))).start();
    run.lease('mail').fail('mail', 'OUTPUT_INVALID', { retryable: true });
    expect(run.task('mail')).toMatchObject({ status: 'BACKOFF', unknownOutcome: true });
    run.wakeAfter(60_000, 'mail');
    run.lease('mail').complete('mail');
    expect(run.task('mail')).toMatchObject({ status: 'SUCCEEDED', unknownOutcome: false });
  });

  it('W8: is not undone where only successes are to be', () => {
    const run = payBesideMail({ compensate: true, compensateOn: ['SUCCEEDED'] }).lease('mail');
    run.fail('mail', 'OUTPUT_INVALID', { retryable: false });
    expect(run.has('mail', 'compensate')).toBe(false);
  });

  it('belongs to one generation: the next one knows nothing of it', () => {
    const run = new FakeRun(definition([task('a')])).start().lease('a');
    run.wakeAfter(30_000, 'a');
    run.cancel();
    expect(run.task('a')).toMatchObject({ generation: 1, unknownOutcome: true });
    run.retry();
    expect(run.task('a')).toMatchObject({ generation: 2, unknownOutcome: false });
  });

  it('is not that of a step that was never leased, however often it was sent', () => {
    const run = payBesideMail();
    run.wakeAfter(300_000, 'mail');
    run.wakeAfter(600_000, 'mail');
    run.fail('pay');
    expect(run.task('mail')).toMatchObject({ status: 'CANCELLED', attempt: 3, unknownOutcome: false });
    expect(run.has('mail', 'compensate')).toBe(false);
    expect(run.complete('mail')).toMatchObject({ kind: 'ignored', report: 'STALE' });
  });
});

describe('the undo of a step that is cut off (R18)', () => {
  it('is planned in the decision that cuts it off, and the step has 30 seconds more', () => {
    const run = payBesideMail().lease('mail');
    const decision = run.fail('pay');
    const actions: readonly Action[] = decision.kind === 'applied' ? decision.actions : [];
    expect(actions.filter(({ type }) => type === 'CutOffTask')).toMatchObject([{ nodeId: 'mail', graceMs: 30_000 }]);
    expect(actions.filter(({ type }) => type === 'CreateTask')).toMatchObject([{ nodeId: 'mail', status: 'PLANNED' }]);
    expect(run.undoOrder()).toEqual([]);
  });

  it('waits while the worker holds the step, though nothing else is left to undo', () => {
    const run = cutOff();
    run.store.now += 20_000;
    run.store.heartbeat(run.task('mail').taskId);
    run.store.now += 9_999;
    expect(run.wake('mail')).toMatchObject({ kind: 'ignored' });
    expect([run.undoOrder(), run.state.status]).toEqual([[], 'COMPENSATING']);
    run.wakeAfter(1, 'mail');
    expect(run.undoOrder()).toEqual(['mail']);
  });

  it('is not begun twice by a report that comes after the wait is over', () => {
    const run = cutOff();
    run.wakeAfter(30_000, 'mail');
    expect(run.complete('mail')).toMatchObject({ kind: 'ignored', report: 'STALE', actions: [] });
    expect(run.undoOrder()).toEqual(['mail']);
  });

  it('asks a report for the same fence as ever', () => {
    const run = payBesideMail().lease('mail');
    run.wakeAfter(30_000, 'mail');
    run.lease('mail').fail('pay');
    expect(run.complete('mail', '{}', { attempt: 1 })).toMatchObject({ kind: 'ignored', report: 'STALE' });
    expect(run.complete('mail', '{}', { attempt: 3 })).toMatchObject({ kind: 'ignored', report: 'STALE' });
    expect(run.task('mail')).toMatchObject({ status: 'SCHEDULED', cutOff: true });
    expect(run.complete('mail', '{"n":2}', { attempt: 2 })).toMatchObject({ report: 'APPLIED_CANCELLED' });
    expect(run.complete('mail', '{"n":2}', { attempt: 2 })).toMatchObject({ report: 'DUPLICATE' });
    expect(run.inputOf('mail', 'compensate')).toBe('{"input":{},"output":{"n":2}}');
  });

  it('stays after a definite failure if an earlier attempt may have had its effect (R17)', () => {
    const run = payBesideMail().lease('mail');
    run.wakeAfter(30_000, 'mail');
    run.lease('mail').fail('pay');
    run.fail('mail', 'NO_ADDRESS');
    expect(run.task('mail')).toMatchObject({ status: 'FAILED', unknownOutcome: true });
    expect(run.status('mail', 'compensate')).toBe('SCHEDULED');
  });

  it('W8: comes when the step ran in that window and its result could not be kept', () => {
    const run = cutOff();
    run.fail('mail', 'OUTPUT_INVALID');
    expect(run.task('mail')).toMatchObject({ status: 'FAILED', unknownOutcome: true });
    expect(run.status('mail', 'compensate')).toBe('SCHEDULED');
  });

  it('is dropped after a success that nobody asked to undo', () => {
    const run = cutOff({ compensate: true, compensateOn: ['UNKNOWN'] });
    run.complete('mail');
    expect(run.status('mail', 'compensate')).toBe('CANCELLED');
    expect(run.state).toMatchObject({ status: 'COMPENSATED', undo: 'CLEAN' });
  });

  it.each(['cancel', 'deadline'] as const)('waits after a %s too', (cause) => {
    const nodes = chain(task('a'), task('mail', { compensate: true }));
    const run = new FakeRun(definition(nodes, { deadlineMs: 10_000 })).start();
    run.complete('a');
    run.lease('mail');
    if (cause === 'cancel') run.cancel();
    else run.fire('run-deadline');
    expect(run.task('mail')).toMatchObject({ status: 'SCHEDULED', cutOff: true });
    expect([run.status('mail', 'compensate'), run.undoOrder()]).toEqual(['PLANNED', []]);
  });

  it('is not waited for where the step has none: it is closed at once, and the report comes too late', () => {
    const run = payBesideMail({}).lease('mail');
    run.fail('pay');
    expect(run.task('mail')).toMatchObject({ status: 'CANCELLED', cutOff: false, unknownOutcome: true });
    expect(run.complete('mail')).toMatchObject({ kind: 'ignored', report: 'STALE' });
  });
});
