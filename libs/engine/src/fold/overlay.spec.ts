import { newRun, type Action, type RunState, type TaskState } from '@baton/core';
import { defaultEvents } from './messages.js';
import { RunFacts } from './overlay.js';
import { RunFold } from './run-fold.js';

const run = newRun({ runId: 'run', namespace: 'default', definitionId: 'd', definitionVersion: 1, route: 'kafka' });

const open: TaskState = {
  ...{ taskId: 'old', nodeId: 'first', item: 0, kind: 'forward', generation: 1, status: 'SCHEDULED', attempt: 1 },
  ...{ failures: 0, losses: 0, redispatches: 0, unknownOutcome: false, cutOff: false },
  ...{ reportHash: null, settledSeq: null, failure: null },
};

/** A batch of which one decision has been made, on a run with one open task. */
function foldOf(actions: readonly Action[], tasks: readonly TaskState[] = [open]): RunFold {
  const state: RunState = { ...run, tasks: new Map([[open.taskId, open]]) };
  const fold = new RunFold(state, null, { newId: () => 'id', events: defaultEvents });
  const after = { ...state, tasks: new Map(tasks.map((task) => [task.taskId, task])) };
  fold.add({
    event: { type: 'TimerFired', timerId: 't' },
    actions,
    state: after,
    leases: undefined,
    repeatsLeases: false,
    wish: null,
  });
  return fold;
}

const deadlines = {
  ...{ scheduleToStartMs: null, redispatchAfterMs: 1, startToCloseMs: 1, heartbeatMs: 1, scheduleToCloseMs: null },
};

const leased = {
  ...{ leaseId: 'lease', leaseOwner: 'w', leaseExpired: true, startToClosePassed: true, scheduleToStartPassed: false },
  ...{ scheduleToClosePassed: false, redispatchDue: false, backoffOver: false, cutOffOver: false },
};

describe('R3: what a decision of a batch sees', () => {
  it('is the output that an earlier event of the batch brought, before what the database has', () => {
    const done: TaskState = { ...open, status: 'SUCCEEDED' };
    const complete: Action = {
      ...{ type: 'CompleteTask', taskId: 'old', nodeId: 'first', attempt: 1, settledSeq: 2 },
      ...{ output: '"new"', reportHash: 'h' },
    };
    const fold = foldOf([complete], [done]);
    const facts = new RunFacts();
    facts.learn({ payloads: ['old'] }, { payloads: new Map([['old', { input: '"in"', output: '"stored"' }]]) });
    const needs = { payloads: ['old'] };
    expect(facts.missing(needs, fold)).toBeNull();
    expect(facts.view(needs, fold).payloads?.get('old')).toEqual({ input: '"in"', output: '"new"' });
  });

  it('is the row that an earlier event of the batch makes: the database is not asked', () => {
    const made: TaskState = { ...open, taskId: 'new', nodeId: 'second', status: 'WAITING', attempt: 0 };
    const create: Action = {
      ...{ type: 'CreateTask', taskId: 'new', nodeId: 'second', item: 0, kind: 'forward', generation: 1 },
      ...{ status: 'WAITING', input: '"in"', failure: null },
    } as Action;
    const fold = foldOf([create], [open, made]);
    const needs = { payloads: ['new'], leases: ['new'] };
    const facts = new RunFacts();
    expect(facts.missing(needs, fold)).toBeNull();
    expect(facts.view(needs, fold).payloads?.get('new')).toEqual({ input: '"in"', output: null });
    expect(facts.view(needs, fold).leases?.get('new')).toMatchObject({ leaseId: null, leaseExpired: false });
  });

  it('is an attempt without a lease where the batch begins it, though the row still has the lease of the last one', () => {
    const dispatch: Action = {
      ...{ type: 'DispatchTask', taskId: 'old', nodeId: 'first', item: 0, kind: 'forward', generation: 1, attempt: 2 },
      redispatches: 0,
      ...{ queue: 'q', handler: 'h', input: '1', idempotencyKey: 'k', deadlines },
    } as Action;
    const fold = foldOf([dispatch], [{ ...open, attempt: 2 }]);
    const facts = new RunFacts();
    facts.learn({ leases: ['old'] }, { leases: new Map([['old', leased]]) });
    expect(facts.view({ leases: ['old'] }, fold).leases?.get('old')).toMatchObject({
      leaseId: null,
      leaseExpired: false,
      startToClosePassed: false,
    });
    expect(new RunFacts().missing({ leases: ['old'] }, fold)).toBeNull();
  });

  it('is a signal that came with the batch after those that are stored, and not one that the batch has consumed', () => {
    const buffer: Action = {
      ...{ type: 'BufferSignal', signalId: 'fresh', name: 'go', payload: '3', payloadHash: 'h3' },
      ...{ expiresInMs: null, seq: 9 },
    };
    const consume: Action = { type: 'ConsumeSignal', signalId: 'first', name: 'go', byTaskId: 'old', insert: null };
    const fold = foldOf([buffer, consume]);
    const facts = new RunFacts();
    const stored = ['first', 'second'].map((signalId) => ({ signalId, name: 'go', payload: '1', payloadHash: 'h' }));
    facts.learn({ signals: ['go'] }, { signals: new Map([['go', stored]]) });
    const view = facts.view({ signals: ['go'], knownSignals: ['fresh'] }, fold);
    expect(view.signals?.get('go')?.map(({ signalId }) => signalId)).toEqual(['second', 'fresh']);
    expect(view.knownSignals?.get('fresh')).toEqual({ payloadHash: 'h3' });
    expect(facts.missing({ knownSignals: ['fresh'] }, fold)).toBeNull();
  });

  it('is a timer that the batch has set, and none that it has cleared', () => {
    const set: Action = {
      ...{ type: 'SetTimer', timerId: 'fresh', kind: 'run-deadline', nodeId: null, generation: 1 },
      ...{ afterMs: 5, from: 'now' },
    } as Action;
    const fold = foldOf([{ type: 'ClearTimers', which: { scope: 'node', nodeId: 'wait' } }, set]);
    const facts = new RunFacts();
    const row = { kind: 'wait-timeout', generation: 1, due: true } as const;
    facts.learn(
      { timers: ['gone', 'stays'] },
      {
        timers: new Map([
          ['gone', { ...row, timerId: 'gone', nodeId: 'wait' }],
          ['stays', { ...row, timerId: 'stays', nodeId: 'other' }],
        ]),
      },
    );
    const view = facts.view({ timers: ['gone', 'stays', 'fresh'] }, fold);
    expect([...(view.timers ?? [])].map(([id, { due }]) => [id, due])).toEqual([
      ['stays', true],
      ['fresh', false],
    ]);
  });
});
