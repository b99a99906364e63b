import * as fc from 'fast-check';
import { anyDag, anySteps } from '../testing/arbitraries.js';
import { chain, definition, task, wait } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';
import { World } from '../testing/world.js';
import { RunRows } from './rows.js';
import { isSettled } from './status.js';

const statuses = (run: FakeRun, ...nodeIds: string[]): string[] => nodeIds.map((nodeId) => run.status(nodeId));

describe('a skip', () => {
  it('B02: spreads only where every way in was skipped; what is shared with a living branch runs once', () => {
    const nodes = [
      task('s'),
      task('b1', { after: ['s'] }),
      task('b2', { after: ['s'] }),
      task('b3', { after: ['b1', 'b2'] }),
      task('b4', { after: ['b1'] }),
    ];
    const run = new FakeRun(definition(nodes)).start('b2');
    expect(statuses(run, 's', 'b1', 'b4', 'b2')).toEqual(['SKIPPED', 'SKIPPED', 'SKIPPED', 'SCHEDULED']);
    expect(run.status('b3')).toBe('ABSENT');
    run.complete('b2');
    expect(run.state.status).toBe('RUNNING');
    run.complete('b3');
    expect(run.state.status).toBe('SUCCEEDED');
    expect(run.store.dispatches.map((sent) => sent.nodeId)).toEqual(['b2', 'b3']);
  });

  it.each([
    ['t16', ['t16', 't19', 't20', 'join2', 'join1', 't15']],
    ['t17', ['t17', 't20b']],
    ['t12', ['t12', 't14', 'join2', 'join1', 't15']],
  ])('B01: nested joins never wait for what was skipped: the run ends when it starts from %s', (from, executed) => {
    // Three branches of different length below t13, a join that names a node of one of them, and a join of that join.
    const nodes = [
      ...chain(task('t12'), task('t14')),
      task('t13'),
      ...['t16', 't17', 't18'].map((id) => task(id, { after: ['t13'] })),
      task('t19', { after: ['t16'] }),
      task('t20', { after: ['t19'] }),
      task('t20b', { after: ['t17'] }),
      task('join2', { after: ['t14', 't20'] }),
      task('t11'),
      task('join1', { after: ['t11', 'join2'] }),
      task('t15', { after: ['join1'] }),
    ];
    const run = new FakeRun(definition(nodes)).start(from);
    for (const nodeId of executed) run.complete(nodeId);
    expect(run.state.status).toBe('SUCCEEDED');
    expect(run.store.dispatches.map((sent) => sent.nodeId)).toEqual(executed);
    const others = nodes.map((node) => node.id).filter((id) => !executed.includes(id));
    expect(new Set(statuses(run, ...others))).toEqual(new Set(['SKIPPED']));
  });
});

describe('a node', () => {
  it('B06: never starts while one of its ways in is open, in any history of any graph', () => {
    fc.assert(
      fc.property(anyDag, anySteps, (dag, steps) => {
        const run = new FakeRun(dag, '{"a":1}').start(dag.order.length % 5 === 4 ? dag.order[2] : undefined);
        const world = new World(run);
        for (const step of steps) {
          world.step(step);
          if (run.state.status !== 'RUNNING') continue;
          const rows = new RunRows(run.dag, run.state);
          for (const nodeId of run.dag.order.filter((id) => rows.current(id) !== undefined)) {
            const open = (run.dag.nodes.get(nodeId)?.after ?? []).filter((from) => {
              const row = rows.current(from);
              return row === undefined || !isSettled(row);
            });
            if (open.length > 0) throw new Error(`${nodeId} started before ${open.join(', ')}`);
          }
        }
      }),
      { seed: 20_261_201, numRuns: 150 },
    );
  });

  it('B08: that joins 250 others starts once, when the last of them has settled, whatever their order', () => {
    const ids = Array.from({ length: 250 }, (_, n) => `n${n}`);
    const run = new FakeRun(
      definition([task('split'), ...ids.map((id) => task(id, { after: ['split'] })), task('join', { after: ids })]),
    ).start();
    run.complete('split');
    expect(run.store.dispatches).toHaveLength(251);
    for (const id of ids.slice(1).toReversed()) run.complete(id);
    expect(run.status('join')).toBe('ABSENT');
    run.complete('n0');
    expect(run.store.dispatches.filter((sent) => sent.nodeId === 'join')).toHaveLength(1);
  });
});

describe('a timer that was already on its way', () => {
  it('B45: means nothing when the run was cancelled meanwhile: it is consumed without an effect', () => {
    const run = new FakeRun(definition([wait('sleep', { timeoutMs: 60_000 })])).start();
    const { timerId } = run.timer('wait-timeout');
    run.cancel();
    expect(run.store.timers.size).toBe(0);
    const journal = run.journalKinds();
    run.store.now += 60_000;
    expect(run.handle({ type: 'TimerFired', timerId })).toMatchObject({ kind: 'ignored' });
    expect(run.state.status).toBe('CANCELLED');
    expect(run.journalKinds()).toEqual(journal);
  });
});

describe('a saga', () => {
  it('B37: is undone once, however often the message that it waited for and its deadline come', () => {
    const nodes = chain(task('a', { compensate: true }), wait('w', { signal: 'resume' }), task('b'));
    const run = new FakeRun(definition(nodes, { deadlineMs: 10_000 })).start();
    run.complete('a');
    const deadline = run.timer('run-deadline').timerId;
    run.fire('run-deadline');
    expect(run.state.status).toBe('COMPENSATING');
    run.signal('resume');
    run.handle({ type: 'TimerFired', timerId: deadline });
    expect(run.undoOrder()).toEqual(['a']);
    expect(run.has('b')).toBe(false);
    run.complete('a', '{}', { kind: 'compensate' });
    run.handle({ type: 'TimerFired', timerId: deadline });
    expect(run.state.status).toBe('EXPIRED');
    expect(run.undoOrder()).toEqual(['a']);
  });

  it('B39: undoes nothing for an action that nobody had started, and the late action is refused', () => {
    const nodes = [task('pay', { compensate: true }), task('ship', { compensate: true, retry: { maxAttempts: 1 } })];
    const run = new FakeRun(definition(nodes)).start();
    const { taskId, attempt } = run.task('pay'); // its message is in the hands of a slow consumer, without a lease
    run.lease('ship').fail('ship');
    expect(run.state.status).toBe('FAILED');
    expect(run.undoOrder()).toEqual([]);
    const late = { type: 'NodeCompleted', taskId, nodeId: 'pay', attempt, output: '1', reportHash: 'late' } as const;
    expect(run.handle(late)).toMatchObject({ kind: 'ignored', report: 'STALE' });
    expect(run.state.status).toBe('FAILED');
  });
});
