import type { NodeOutline, RunView, TaskView } from '../client/views.js';
import { renderRunTree } from './run-tree.js';

const start = Date.parse('2026-01-01T00:00:00.000Z');
const at = (ms: number): string => new Date(start + ms).toISOString();

const run = (changes: Partial<RunView> = {}): RunView => ({
  runId: '0190a000-0000-7000-8000-000000000001',
  definitionId: 'order',
  definitionVersion: 1,
  status: 'RUNNING',
  cause: null,
  compensation: 'NONE',
  epoch: 1,
  failure: null,
  startedAt: at(0),
  endedAt: null,
  businessKey: null,
  stuckReason: null,
  ...changes,
});

const task = (nodeId: string, changes: Partial<TaskView> = {}): TaskView => ({
  taskId: `task-${nodeId}`,
  nodeId,
  item: 0,
  kind: 'forward',
  generation: 1,
  status: 'SUCCEEDED',
  attempt: 1,
  failures: 0,
  losses: 0,
  unknownOutcome: false,
  failure: null,
  leaseOwner: null,
  createdAt: at(0),
  settledAt: at(100),
  ...changes,
});

const node = (id: string, ...after: string[]): NodeOutline => ({ id, type: 'task', after });

const order = [node('reserve'), node('charge', 'reserve'), node('ship', 'charge'), node('invoice', 'charge')];

describe('the tree of a run', () => {
  it('draws a sequence as a list and a fan-out below its node', () => {
    const lines = renderRunTree(
      { run: run(), tasks: [task('reserve'), task('charge', { status: 'RUNNING', settledAt: null })], nodes: order },
      { now: start + 2500 },
    );
    expect(lines).toEqual([
      'order v1  0190a000-0000-7000-8000-000000000001  RUNNING  2.5 s',
      '├─ ✔ reserve       SUCCEEDED  100 ms',
      '└─ ● charge        RUNNING  2.5 s',
      '   ├─ · ship',
      '   └─ · invoice',
    ]);
  });

  it('draws a join beside the branches that it waits for', () => {
    const diamond = [node('a'), node('b', 'a'), node('c', 'a'), node('d', 'b', 'c')];
    const lines = renderRunTree({ run: run(), tasks: [], nodes: diamond }, { now: start });
    expect(lines.slice(1)).toEqual(['└─ · a', '   ├─ · b', '   ├─ · c', '   └─ · d  after b, c']);
  });

  it('shows attempts, lease owners, failures and outcomes that nobody knows', () => {
    const failure = { code: 'TASK_FAILED', message: 'no truck\nat ship()', nodeId: 'ship' };
    const lines = renderRunTree(
      {
        run: run(),
        tasks: [
          task('ship', { status: 'BACKOFF', attempt: 2, failure, settledAt: null }),
          task('invoice', { status: 'RUNNING', leaseOwner: 'worker-1', settledAt: null, createdAt: at(1) }),
          task('charge', { status: 'TIMED_OUT', unknownOutcome: true, createdAt: at(2), settledAt: at(3002) }),
          task('reserve', { attempt: 3, failure, createdAt: at(3), settledAt: at(10) }),
        ],
      },
      { now: start + 1000 },
    );
    expect(lines.slice(1)).toEqual([
      '├─ ↻ ship          BACKOFF  attempt 2  1.0 s  TASK_FAILED: no truck',
      '├─ ● invoice       RUNNING  999 ms  on worker-1',
      '├─ ✖ charge        TIMED_OUT  3.0 s  outcome unknown',
      '└─ ✔ reserve       SUCCEEDED  attempt 3  7 ms',
    ]);
  });

  it('lists what is undone in its order, after the nodes', () => {
    const lines = renderRunTree(
      {
        run: run({ status: 'COMPENSATING', failure: { code: 'DECLINED', message: 'DECLINED', nodeId: 'charge' } }),
        tasks: [
          task('reserve'),
          task('charge', { status: 'FAILED' }),
          task('reserve', { kind: 'compensate', status: 'PLANNED', createdAt: at(200), settledAt: null }),
        ],
        nodes: [node('reserve'), node('charge', 'reserve')],
      },
      { now: start + 1000 },
    );
    expect(lines).toEqual([
      'order v1  0190a000-0000-7000-8000-000000000001  COMPENSATING  1.0 s  DECLINED',
      '├─ ✔ reserve       SUCCEEDED  100 ms',
      '├─ ✖ charge        FAILED  100 ms',
      '└─ undo',
      '   └─ · reserve       PLANNED',
    ]);
  });

  it('shows the newest generation of a node, and each item of a map', () => {
    const lines = renderRunTree(
      {
        run: run({ epoch: 2 }),
        tasks: [
          task('a', { status: 'FAILED' }),
          task('a', { generation: 2, createdAt: at(5) }),
          task('m', { item: 1, createdAt: at(6) }),
          task('m', { item: 0, createdAt: at(6) }),
        ],
      },
      { now: start },
    );
    expect(lines[0]).toContain('epoch 2');
    expect(lines.slice(1).map((line) => line.slice(0, 11).trim())).toEqual(['├─ ✔ a', '├─ ✔ m[0]', '└─ ✔ m[1]']);
  });

  it('shows the last entries of the history', () => {
    const entry = (seq: number) => ({
      seq,
      kind: 'node.failed',
      nodeId: 'a',
      taskKind: 'compensate',
      attempt: 2,
      code: 'X',
      detail: null,
      at: at(seq),
    });
    const lines = renderRunTree({ run: run(), tasks: [], history: [entry(1), entry(2)] }, { now: start, recent: 1 });
    expect(lines.slice(1)).toEqual([
      '   2  2026-01-01T00:00:00.002Z  node.failed               a  (undo)  attempt 2  X',
    ]);
  });

  it('cuts long lines, without counting colours', () => {
    const input = { run: run(), tasks: [task('reserve')] };
    const plain = renderRunTree(input, { now: start, width: 20 });
    expect(plain.every((line) => line.length <= 20)).toBe(true);
    const coloured = renderRunTree(input, { now: start, width: 200, colour: true });
    expect(coloured[1]).toContain('\u001b[32mSUCCEEDED\u001b[0m');
  });

  it('draws something even for a graph with a cycle', () => {
    const lines = renderRunTree({ run: run(), tasks: [], nodes: [node('a', 'b'), node('b', 'a')] }, { now: start });
    expect(lines).toHaveLength(3);
  });

  it('B14, B125: draws 10,000 nodes in a chain, and a comb that branches 5,000 times, without recursion', () => {
    const chain = Array.from({ length: 10_000 }, (_, n) => node(`n${n}`, ...(n === 0 ? [] : [`n${n - 1}`])));
    const drawn = renderRunTree({ run: run(), tasks: chain.map(({ id }) => task(id)), nodes: chain }, { now: start });
    expect(drawn).toHaveLength(10_001);
    const comb = Array.from({ length: 5_000 }, (_, n) => {
      const before = n === 0 ? [] : [`n${n - 1}`];
      return [node(`n${n}`, ...before), node(`tooth${n}`, ...before)];
    }).flat();
    const lines = renderRunTree({ run: run(), tasks: [], nodes: comb.toReversed() }, { now: start });
    expect(lines).toHaveLength(10_001);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(200);
  });

  it('B125: draws a run with one record that it does not know: a node type, a status, a node that is in no graph', () => {
    const nodes = [node('a'), { ...node('b', 'a'), type: 'teleport' }];
    const tasks = [task('a', { status: 'QUANTUM' }), task('gone')];
    const lines = renderRunTree({ run: run({ status: 'ODD' }), tasks, nodes }, { now: start });
    expect(lines.map((line) => line.replace(/ {2,}.*/, ''))).toEqual(['order v1', '├─ ? a', '└─ · b']);
  });

  it('B125: shows what others wrote as text: it cannot command the terminal, nor break its line', () => {
    const evil = '\u001b[2Jred\u0007\r\u009b31m\u202etxt\n';
    const failed = { code: evil, message: evil, nodeId: 'a' };
    const tree = renderRunTree(
      {
        run: run({ failure: failed, businessKey: evil, stuckReason: evil }),
        tasks: [task('a', { status: 'FAILED', failure: failed, leaseOwner: evil })],
        history: [{ seq: 1, kind: 'x', nodeId: 'a', taskKind: null, attempt: 1, code: evil, detail: evil, at: at(0) }],
      },
      { now: start, recent: 1 },
    );
    expect(tree).toHaveLength(3);
    for (const line of tree) expect(line).not.toMatch(/[\0-\x1f\x7f-\x9f\u202e]/);
    expect(tree[1]).toContain('\\u001b[2Jred');
  });
});
