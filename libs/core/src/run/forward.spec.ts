import { chain, definition, outputOf, task, template, wait, wholeInput } from '../testing/definitions.js';
import { decide } from './decide.js';
import { newRun } from './new-run.js';
import { FakeRun } from '../testing/fake-run.js';

function newIds(): () => string {
  let ids = 0;
  return () => `id-${(ids += 1)}`;
}

describe('the forward phase', () => {
  it('runs a sequence: each node starts in the decision that ends the one before it', () => {
    const run = new FakeRun(definition(chain(task('a'), task('b'), task('c')))).start();
    expect(run.status('b')).toBe('ABSENT');
    run.complete('a');
    expect(run.status('b')).toBe('SCHEDULED');
    run.complete('b');
    run.complete('c');
    expect(run.state.status).toBe('SUCCEEDED');
    expect(run.journalKinds()).toEqual([
      'run.started',
      'task.scheduled',
      'node.succeeded',
      'task.scheduled',
      'node.succeeded',
      'task.scheduled',
      'node.succeeded',
      'run.succeeded',
    ]);
  });

  it('runs a diamond: the last node starts once, after both sides', () => {
    const run = new FakeRun(
      definition([
        task('a'),
        task('left', { after: ['a'] }),
        task('right', { after: ['a'] }),
        task('end', { after: ['left', 'right'] }),
      ]),
    ).start();
    run.complete('a');
    run.complete('right');
    expect(run.status('end')).toBe('ABSENT');
    run.complete('left');
    expect(run.status('end')).toBe('SCHEDULED');
    expect(run.store.dispatches.filter((sent) => sent.nodeId === 'end')).toHaveLength(1);
  });

  it('B07: a run with an open task is not over', () => {
    const run = new FakeRun(definition([task('a'), task('b', { after: ['a'] }), task('c', { after: ['a'] })])).start();
    run.complete('a');
    run.complete('b');
    expect(run.state.status).toBe('RUNNING');
    run.complete('c');
    expect(run.state.status).toBe('SUCCEEDED');
    expect(run.journalKinds().filter((kind) => kind === 'run.succeeded')).toHaveLength(1);
  });

  it('B14: a long chain of waits whose signals are there already is decided at once, without recursion', () => {
    const waits = Array.from({ length: 100 }, (_, index) => wait(`w${index}`, { signal: 'go' }));
    const others = Array.from({ length: 500 }, (_, index) => task(`s${index}`));
    const run = new FakeRun(definition([...chain(task('first'), ...waits), ...chain(...others)])).start('first');
    for (let i = 0; i < waits.length; i += 1) run.signal('go', `{"n":${i}}`);
    run.complete('first');
    expect(run.state.status).toBe('SUCCEEDED');
    expect(run.outputOf('w99')).toBe('{"n":99}');
    expect(run.status('s499')).toBe('SKIPPED');
  });

  it('B14: 10,000 nodes in a chain start and settle without a deep stack', () => {
    const dag = definition(chain(...Array.from({ length: 10_000 }, (_, index) => task(`n${index}`))));
    const env = { newId: newIds(), random: () => 0, loaded: {} };
    const base = { runId: 'r', namespace: 'default', definitionId: 'order', definitionVersion: 1 } as const;
    const started = decide(dag, newRun({ ...base, route: 'kafka' }), { type: 'RunStarted', startNodeId: 'n9999' }, env);
    if (started.kind !== 'applied') throw new Error(started.kind);
    expect(started.state.tasks.size).toBe(10_000);
    const last = [...started.state.tasks.values()].at(-1);
    const report = { taskId: last?.taskId ?? '', nodeId: 'n9999', attempt: 1, output: '1', reportHash: 'h' };
    const ended = decide(dag, started.state, { type: 'NodeCompleted', ...report }, env);
    expect(ended).toMatchObject({ kind: 'applied', state: { status: 'SUCCEEDED' } });
  });

  it('renders inputs from the input of the run and from outputs, byte for byte (B70)', () => {
    const big = '{"n":9007199254740993,  "neg":-0.10}';
    const run = new FakeRun(
      definition(chain(task('a', { input: wholeInput }), task('b', { input: outputOf('a') })), {
        output: outputOf('b'),
      }),
      big,
    ).start();
    expect(run.inputOf('a')).toBe(big);
    run.complete('a', '[1e400]');
    expect(run.inputOf('b')).toBe('[1e400]');
    run.complete('b', '"\\u00e9"');
    expect(run.store.output).toBe('"\\u00e9"');
  });

  it('gives {} to a task without an input, and no output to a run without one', () => {
    const run = new FakeRun(definition([task('a')]), '{"x":1}').start();
    expect(run.inputOf('a')).toBe('{}');
    run.complete('a');
    expect(run.store.output).toBeNull();
  });

  it('fails a node whose input cannot be rendered, before anything of its round goes out', () => {
    const missing = template({ nodes: ['a'] }, () => undefined);
    const run = new FakeRun(
      definition([
        task('a', { compensate: true }),
        task('b', { after: ['a'], input: missing }),
        task('c', { after: ['a'] }),
      ]),
    ).start();
    run.complete('a');
    expect(run.task('b')).toMatchObject({ status: 'FAILED', attempt: 0, failure: { code: 'INPUT_UNRESOLVED' } });
    expect(run.status('c')).toBe('ABSENT');
    expect(run.state).toMatchObject({ status: 'COMPENSATING', failure: { code: 'INPUT_UNRESOLVED', nodeId: 'b' } });
    expect(run.undoOrder()).toEqual(['a']);
  });

  it('fails a run whose output cannot be rendered, and undoes it', () => {
    const run = new FakeRun(
      definition([task('a', { compensate: true })], { output: template({ nodes: ['a'] }, () => undefined) }),
    ).start();
    run.complete('a');
    expect(run.state).toMatchObject({ status: 'COMPENSATING', failure: { code: 'OUTPUT_UNRESOLVED' } });
  });

  it('ignores a second start', () => {
    const run = new FakeRun(definition([task('a')])).start();
    expect(run.handle({ type: 'RunStarted' })).toMatchObject({ kind: 'ignored', actions: [] });
  });
});

describe('a start from a node', () => {
  const dag = definition([...chain(task('a'), task('b'), task('c')), task('x'), task('d', { after: ['c', 'x'] })]);

  it('skips what does not lie below it, and does not ask for its ways in', () => {
    const run = new FakeRun(dag).start('b');
    expect(['a', 'b', 'x'].map((node) => run.status(node))).toEqual(['SKIPPED', 'SCHEDULED', 'SKIPPED']);
    run.complete('b');
    run.complete('c');
    expect(run.status('d')).toBe('SCHEDULED'); // one way in was taken, the other is settled
    run.complete('d');
    expect(run.state.status).toBe('SUCCEEDED');
  });

  it('is refused for a node that the definition lacks', () => {
    const run = new FakeRun(dag).start('zzz');
    expect(run.last).toMatchObject({ kind: 'refused', refusal: { code: 'NODE_NOT_FOUND', nodes: ['zzz'] } });
    expect(run.state.journalSeq).toBe(0);
  });
});

describe('what a decision is made on', () => {
  it('is the version that the run is pinned to', () => {
    const run = new FakeRun(definition([task('a')])).start();
    expect(() => run.handle({ type: 'TimerFired', timerId: 't' }, definition([task('a')], { version: 2 }))).toThrow(
      'pinned to version 1',
    );
  });

  it('is a definition of the same id', () => {
    const run = new FakeRun(definition([task('a')]));
    expect(() => run.handle({ type: 'RunStarted' }, definition([task('a')], { id: 'other' }))).toThrow('run of order');
  });
});
