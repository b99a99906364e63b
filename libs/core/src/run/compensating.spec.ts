import { chain, definition, task, wait } from '../testing/definitions.js';
import type { DefinitionOptions } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';
import type { RunCause, RunStatus, UndoResult } from './state.js';

/** What ends the forward phase of a run in which `b` is out, and `w` waits. */
const causes: Readonly<Record<RunCause, (run: FakeRun) => void>> = {
  failure: (run) => void run.fail('b'),
  cancel: (run) => void run.cancel(),
  deadline: (run) => void run.fire('run-deadline'),
};
const names = Object.keys(causes) as RunCause[];

function runningWith(undoable: boolean, options: DefinitionOptions = {}): FakeRun {
  const a = task('a', undoable ? { compensate: true } : {});
  const nodes = [...chain(a, task('b')), wait('w', { timeoutMs: 600_000 })];
  const run = new FakeRun(definition(nodes, { deadlineMs: 300_000, ...options })).start();
  run.complete('a');
  return run;
}

function compensating(cause: RunCause, options: DefinitionOptions = {}): FakeRun {
  const run = runningWith(true, options);
  causes[cause](run);
  expect(run.state).toMatchObject({ status: 'COMPENSATING', cause });
  return run;
}

describe('COMPENSATING (R19)', () => {
  it.each(names)('begun by a %s removes the deadline of the run and all forward timers in that decision', (cause) => {
    const run = compensating(cause);
    expect(run.store.timers.size).toBe(0);
    expect(run.status('w')).toBe('CANCELLED');
  });

  it.each(names)('begun by a %s has that cause to its end, whatever comes then', (cause) => {
    const run = compensating(cause, { compensationTimeoutMs: 60_000 });
    run.store.timers.set('late', {
      ...{ timerId: 'late', kind: 'run-deadline', nodeId: null, generation: 1, dueAt: 0 },
    });
    expect(run.handle({ type: 'TimerFired', timerId: 'late' })).toMatchObject({ kind: 'ignored' });
    const cancelled = run.cancel();
    if (cause === 'cancel') expect(cancelled).toMatchObject({ kind: 'ignored', duplicate: true });
    else expect(cancelled).toMatchObject({ kind: 'refused', refusal: { code: 'ALREADY_COMPENSATING' } });
    expect(run.fail('b', 'LATE')).toMatchObject({ kind: 'ignored' });
    expect(run.state.cause).toBe(cause);
    expect(run.journalKinds().filter((kind) => kind === 'run.compensation_started')).toHaveLength(1);
    run.complete('a', '{}', { kind: 'compensate' });
    expect(run.state).toMatchObject({ cause, undo: 'CLEAN' });
  });

  it('keeps its cause when a step that was cut off fails as well', () => {
    const nodes = [task('a', { compensate: true }), task('b', { compensate: true })];
    const run = new FakeRun(definition(nodes, { deadlineMs: 300_000 })).start().lease('b');
    run.complete('a');
    run.cancel();
    run.fail('b', 'ALSO_BROKEN');
    expect(run.state).toMatchObject({ status: 'COMPENSATING', cause: 'cancel', failure: { code: 'CANCELLED' } });
  });

  it.each(names)('of a %s keeps its cause over retryCompensation, and has a time limit again', (cause) => {
    const run = compensating(cause, { compensationTimeoutMs: 60_000 });
    run.fail('a', 'BROKEN', { kind: 'compensate' });
    expect(run.state).toMatchObject({ status: 'COMPENSATION_FAILED', cause });
    run.retryCompensation();
    expect(run.state).toMatchObject({ status: 'COMPENSATING', cause });
    expect([...run.store.timers.values()].map(({ kind }) => kind)).toEqual(['compensation-timeout']);
    run.fire('compensation-timeout');
    expect(run.state).toMatchObject({ status: 'COMPENSATION_FAILED', cause, undo: 'FAILED' });
  });

  const table: readonly [RunCause, UndoResult, RunStatus][] = [
    ['failure', 'NONE', 'FAILED'],
    ['failure', 'CLEAN', 'COMPENSATED'],
    ['failure', 'FAILED', 'COMPENSATION_FAILED'],
    ['cancel', 'NONE', 'CANCELLED'],
    ['cancel', 'CLEAN', 'CANCELLED'],
    ['cancel', 'FAILED', 'COMPENSATION_FAILED'],
    ['deadline', 'NONE', 'EXPIRED'],
    ['deadline', 'CLEAN', 'EXPIRED'],
    ['deadline', 'FAILED', 'COMPENSATION_FAILED'],
  ];

  it.each(table)('ended by a %s, with the undo %s, is %s', (cause, undo, status) => {
    const run = runningWith(undo !== 'NONE');
    causes[cause](run);
    if (undo === 'CLEAN') run.complete('a', '{}', { kind: 'compensate' });
    if (undo === 'FAILED') run.fail('a', 'BROKEN', { kind: 'compensate' });
    expect(run.state).toMatchObject({ status, cause, undo });
    expect(run.store.timers.size).toBe(0);
  });

  it('is bounded by compensationTimeout, also where nobody ever takes the undo', () => {
    const run = compensating('failure', { compensationTimeoutMs: 60_000 });
    const timer = run.timer('compensation-timeout');
    expect(timer.dueAt - run.store.now).toBe(60_000);
    run.store.now = timer.dueAt - 1;
    expect(run.handle({ type: 'TimerFired', timerId: timer.timerId })).toMatchObject({ kind: 'ignored', actions: [] });
    run.fire('compensation-timeout');
    expect(run.state).toMatchObject({ status: 'COMPENSATION_FAILED', undo: 'FAILED' });
    expect(run.task('a', 'compensate')).toMatchObject({
      status: 'TIMED_OUT',
      failure: { code: 'COMPENSATION_TIMEOUT' },
    });
  });

  it('that runs out of time drops the undo of a cut-off step whose outcome nobody asked to undo', () => {
    const b = task('b', { compensate: true, compensateOn: ['SUCCEEDED'] });
    const dag = definition([task('x'), b], { compensationTimeoutMs: 1_000 });
    const run = new FakeRun(dag).start().lease('b');
    run.fail('x');
    expect(run.status('b', 'compensate')).toBe('PLANNED');
    run.fire('compensation-timeout');
    expect(run.task('b')).toMatchObject({ status: 'CANCELLED', unknownOutcome: true });
    expect(run.status('b', 'compensate')).toBe('CANCELLED');
    expect(run.state).toMatchObject({ status: 'COMPENSATED', undo: 'CLEAN' });
  });
});
