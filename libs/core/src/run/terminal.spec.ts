import { chain, definition, task } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';
import type { TimerEntry } from '../testing/fake-store.js';
import type { RunEvent } from './events.js';
import type { RunStatus, TaskState } from './state.js';

type Ended = Exclude<RunStatus, 'RUNNING' | 'COMPENSATING'>;

const nodes = chain(task('a', { compensate: true }), task('b'));
const undoing = { deadlineMs: 60_000, compensationTimeoutMs: 60_000 } as const;

/** A run that reached its end by a report, a cancel or its deadline; each knows one signal, and a was done first. */
const ended: Readonly<Record<Ended, () => FakeRun>> = {
  SUCCEEDED: () => {
    const run = started();
    run.complete('b');
    return run;
  },
  FAILED: () => {
    const run = new FakeRun(definition(chain(task('a'), task('b')), { deadlineMs: 60_000 })).start();
    run.signal('known');
    run.complete('a');
    run.fail('b');
    return run;
  },
  COMPENSATED: () => {
    const run = started();
    run.fail('b');
    run.complete('a', '{}', { kind: 'compensate' });
    return run;
  },
  COMPENSATION_FAILED: () => {
    const run = started();
    run.fail('b');
    run.fail('a', 'BROKEN', { kind: 'compensate' });
    return run;
  },
  EXPIRED: () => {
    const run = new FakeRun(definition(nodes, { deadlineMs: 60_000, onDeadline: 'expire' })).start();
    run.signal('known');
    run.complete('a');
    run.fire('run-deadline');
    return run;
  },
  CANCELLED: () => {
    const run = new FakeRun(definition(chain(task('a'), task('b')), { deadlineMs: 60_000 })).start();
    run.signal('known');
    run.complete('a');
    run.cancel();
    return run;
  },
};
const statuses = Object.keys(ended) as Ended[];

function started(): FakeRun {
  const run = new FakeRun(definition(nodes, undoing)).start();
  run.signal('known');
  run.complete('a');
  return run;
}

/** What may still be under way when a run ends: reports, wake-ups and timers of its tasks, of this attempt and others. */
function lateEvents(run: FakeRun): RunEvent[] {
  const events: RunEvent[] = [{ type: 'RunStarted' }];
  for (const { taskId, nodeId, attempt } of run.state.tasks.values()) {
    for (const number of [0, attempt - 1, attempt, attempt + 1].filter((n) => n >= 0)) {
      const report = { taskId, nodeId, attempt: number, reportHash: 'late' };
      events.push(
        { ...report, type: 'NodeCompleted', output: '{"late":1}' },
        { ...report, type: 'NodeFailed', failure: { code: 'LATE', message: 'late' }, retryable: true },
        { ...report, type: 'TaskReleased', started: true },
        { ...report, type: 'TaskDeferred', delayMs: 0 },
        { type: 'TaskWoken', taskId, attempt: number },
      );
    }
  }
  return events;
}

/** Timers of every kind, as a service that is behind may still hold them. */
function lateTimers(run: FakeRun): TimerEntry[] {
  return (['run-deadline', 'compensation-timeout', 'wait-timeout'] as const).map((kind) => ({
    timerId: `late ${kind}`,
    kind,
    nodeId: kind === 'wait-timeout' ? 'b' : null,
    generation: run.state.epoch,
    dueAt: 0,
  }));
}

function rowsOf(run: FakeRun): unknown {
  const { tasks, journal, dispatches, signals, output, runInput } = run.store;
  return structuredClone({ tasks, journal, dispatches, signals, output, runInput });
}

describe('a run that has ended (R20)', () => {
  it.each(statuses)('%s is what it says', (status) => {
    const run = ended[status]();
    expect(run.state.status).toBe(status);
    expect(run.store.timers.size).toBe(0);
  });

  it.each(statuses)('%s is changed by no report, wake-up or second start', (status) => {
    const run = ended[status]();
    const [state, rows] = [run.state, rowsOf(run)];
    const events = lateEvents(run);
    expect(events.length).toBeGreaterThan(20);
    for (const event of events) expect(run.handle(event)).toMatchObject({ kind: 'ignored', actions: [] });
    expect(run.state).toBe(state);
    expect(rowsOf(run)).toEqual(rows);
  });

  it.each(statuses)('%s consumes late timers and is not changed by them', (status) => {
    const run = ended[status]();
    const [state, rows] = [run.state, rowsOf(run)];
    for (const timer of lateTimers(run)) {
      run.store.timers.set(timer.timerId, timer);
      expect(run.handle({ type: 'TimerFired', timerId: timer.timerId })).toMatchObject({ kind: 'ignored' });
    }
    expect(run.store.timers.size).toBe(0);
    expect(run.state).toBe(state);
    expect(rowsOf(run)).toEqual(rows);
  });

  it.each(statuses)('%s takes no signal, and knows those that it has', (status) => {
    const run = ended[status]();
    const [state, rows] = [run.state, rowsOf(run)];
    expect(run.signal('new')).toMatchObject({ kind: 'refused', refusal: { code: 'RUN_TERMINAL' } });
    expect(run.signal('known')).toMatchObject({ kind: 'ignored', duplicate: true });
    expect(run.state).toBe(state);
    expect(rowsOf(run)).toEqual(rows);
  });

  it.each(statuses)('%s cannot be cancelled', (status) => {
    const run = ended[status]();
    const [state, rows] = [run.state, rowsOf(run)];
    if (status === 'CANCELLED') expect(run.cancel()).toMatchObject({ kind: 'ignored', duplicate: true, actions: [] });
    else expect(run.cancel()).toMatchObject({ kind: 'refused', refusal: { code: 'RUN_TERMINAL' } });
    expect(run.state).toBe(state);
    expect(rowsOf(run)).toEqual(rows);
  });

  it.each<[Ended, 'RUNNING' | 'NOT_RETRYABLE' | 'UNRESOLVED_UNDO']>([
    ['SUCCEEDED', 'NOT_RETRYABLE'],
    ['FAILED', 'RUNNING'],
    ['COMPENSATED', 'NOT_RETRYABLE'],
    ['COMPENSATION_FAILED', 'UNRESOLVED_UNDO'],
    ['EXPIRED', 'RUNNING'],
    ['CANCELLED', 'RUNNING'],
  ])('%s and a retry of the run: %s', (status, becomes) => {
    const run = ended[status]();
    const state = run.state;
    const decision = run.retry();
    if (becomes !== 'RUNNING') {
      expect(decision).toMatchObject({ kind: 'refused', refusal: { code: becomes } });
      expect(run.state).toBe(state);
      return;
    }
    expect(run.state).toMatchObject({ status: 'RUNNING', epoch: 2 });
    expect(run.journalKinds()).toContain('run.reopened');
  });

  it.each(statuses)('%s and a retry of its compensation', (status) => {
    const run = ended[status]();
    const state = run.state;
    const decision = run.retryCompensation();
    if (status !== 'COMPENSATION_FAILED') {
      expect(decision).toMatchObject({ kind: 'refused', refusal: { code: 'NOTHING_TO_COMPENSATE' } });
      expect(run.state).toBe(state);
      return;
    }
    expect(run.state).toMatchObject({ status: 'COMPENSATING', epoch: 2, cause: 'failure' });
    expect(run.journalKinds()).toContain('run.reopened');
  });

  it('opens an epoch at each retry, of the run as of its compensation', () => {
    const run = ended.COMPENSATION_FAILED();
    for (const epoch of [2, 3]) {
      run.retryCompensation();
      expect(run.state.epoch).toBe(epoch);
      run.fail('a', 'STILL_BROKEN', { kind: 'compensate' });
      expect(run.state).toMatchObject({ status: 'COMPENSATION_FAILED', epoch });
    }
    const failed = ended.FAILED();
    for (const epoch of [2, 3]) {
      failed.retry();
      expect(failed.state.epoch).toBe(epoch);
      failed.fail('b');
    }
    expect(rowsByGeneration(failed, 'b')).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });
});

function rowsByGeneration(run: FakeRun, nodeId: string): [generation: number, attempt: number][] {
  const rows = [...run.state.tasks.values()].filter((row: TaskState) => row.nodeId === nodeId);
  return rows.map((row) => [row.generation, row.attempt]);
}
