import type { DefinitionIssue, ParsedDefinition, TemplateCompiler } from './model.js';
import { parseDefinition } from './parse.js';

/** Templates of these tests: a string `@x` reads the output of node x, `!` is an error, `?` a warning. */
const templates: TemplateCompiler = {
  compile(source) {
    const issue = (code: string) => ({ code, message: code, pointer: '/in' });
    if (source.includes('!')) return { ok: false, issues: [issue('BAD_EXPRESSION')] };
    const references = [...source.matchAll(/@(\w+)/g)].map((match) => ({ nodeId: match[1] ?? '', pointer: '/in' }));
    const template = {
      usesInput: false,
      nodes: references.map((reference) => reference.nodeId),
      references,
      render: () => ({ ok: true, text: source }) as const,
    };
    return { ok: true, template, warnings: source.includes('?') ? [issue('LOOKS_LIKE_EXPRESSION')] : [] };
  },
};

function parse(definition: unknown): ParsedDefinition {
  return parseDefinition(typeof definition === 'string' ? definition : JSON.stringify(definition), templates);
}

function issuesOf(definition: unknown): readonly DefinitionIssue[] {
  const parsed = parse(definition);
  return parsed.ok ? [] : parsed.issues;
}

/** `CODE /pointer` of each finding. */
function findings(definition: unknown): string[] {
  return issuesOf(definition).map((issue) => `${issue.code} ${issue.pointer}`);
}

const node = (id: string, more: object = {}) => ({ id, type: 'task', queue: 'work', ...more });
const order = (nodes: unknown, more: object = {}) => ({ id: 'order', version: 1, nodes, ...more });

describe('a definition that is right', () => {
  it('becomes a spec with defaults, durations in milliseconds, and a graph', () => {
    const parsed = parse(
      order([node('b', { after: ['a'] }), node('a', { compensate: { task: 'undo.a' } })], { deadline: 'PT1H' }),
    );
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
    const { dag } = parsed;
    expect(dag).toMatchObject({ definitionId: 'order', version: 1, order: ['a', 'b'] });
    expect(dag.successors.get('a')).toEqual(['b']);
    expect(dag.spec).toMatchObject({
      deadlineMs: 3_600_000,
      onDeadline: 'compensate',
      compensation: 'parallel',
      compensationTimeoutMs: null,
      inputSchema: null,
      output: null,
    });
    expect(dag.nodes.get('a')).toEqual({
      id: 'a',
      type: 'task',
      after: [],
      queue: 'work',
      handler: 'a',
      input: null,
      retry: {
        maxAttempts: 3,
        initialIntervalMs: 1_000,
        backoff: 2,
        maxIntervalMs: 60_000,
        jitter: 0.2,
        nonRetryable: [],
      },
      timeouts: { scheduleToStartMs: null, startToCloseMs: 3_600_000, heartbeatMs: 30_000, scheduleToCloseMs: null },
      compensateOn: ['SUCCEEDED', 'UNKNOWN'],
      compensate: {
        queue: 'work',
        handler: 'undo.a',
        input: null,
        retry: expect.objectContaining({ maxAttempts: 10 }),
        timeouts: expect.objectContaining({ heartbeatMs: 30_000 }),
      },
    });
  });

  it('takes every setting', () => {
    const reserve = node('reserve', {
      title: 'Reserve stock',
      description: '<b>text</b>',
      task: 'inventory.reserve',
      input: { sku: 1 },
      retry: {
        maxAttempts: 5,
        initialInterval: 'PT0S',
        backoff: 1.5,
        maxInterval: 'PT10S',
        jitter: 0,
        nonRetryable: ['OUT_OF_STOCK'],
      },
      timeouts: { scheduleToStart: 'PT5M', startToClose: 'PT30S', heartbeat: 'PT10S', scheduleToClose: 'PT10M' },
      compensate: { task: 'inventory.release', queue: 'other', input: '@reserve', retry: { maxAttempts: 4 } },
      compensateOn: ['FAILED', 'SUCCEEDED'],
    });
    const approval = { id: 'approval', type: 'wait', signal: 'approved', after: ['reserve'], timeout: 'P2D' };
    const settings = {
      title: 'Order',
      description: 'An order',
      input: { type: 'object' },
      onDeadline: 'expire',
      compensation: 'sequential',
      compensationTimeout: 'PT1H',
      output: '@approval',
    };
    const parsed = parse(order([reserve, approval], settings));
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
    expect(parsed.dag.spec).toMatchObject({
      inputSchema: '{"type":"object"}',
      onDeadline: 'expire',
      compensation: 'sequential',
      compensationTimeoutMs: 3_600_000,
    });
    expect(parsed.dag.nodes.get('reserve')).toMatchObject({
      handler: 'inventory.reserve',
      retry: { maxAttempts: 5, initialIntervalMs: 0, backoff: 1.5, maxIntervalMs: 10_000, jitter: 0 },
      timeouts: {
        scheduleToStartMs: 300_000,
        startToCloseMs: 30_000,
        heartbeatMs: 10_000,
        scheduleToCloseMs: 600_000,
      },
      compensateOn: ['SUCCEEDED', 'FAILED'],
      compensate: { queue: 'other', handler: 'inventory.release', retry: { maxAttempts: 4 } },
    });
    expect(parsed.dag.nodes.get('approval')).toMatchObject({ signal: 'approved', timeoutMs: 172_800_000 });
  });

  it('keeps the schema of the input byte for byte', () => {
    const text =
      '{"id":"o","version":1,"input":{"maximum": 9007199254740993},"nodes":[{"id":"a","type":"wait","signal":"s"}]}';
    const parsed = parse(text);
    expect(parsed.ok && parsed.dag.spec.inputSchema).toBe('{"maximum": 9007199254740993}');
  });

  it('may have warnings', () => {
    const parsed = parse(order([node('a', { input: '?' })]));
    expect(parsed.ok && parsed.warnings).toEqual([
      {
        severity: 'warning',
        code: 'LOOKS_LIKE_EXPRESSION',
        message: 'LOOKS_LIKE_EXPRESSION',
        pointer: '/nodes/0/input/in',
      },
    ]);
  });
});

describe('a definition that is wrong', () => {
  it('is told everything at once', () => {
    const definition = {
      id: 'Order',
      deadline: 'PT30D',
      nodes: [node('a', { after: ['zz'], retry: { maxAttempts: 0 } }), { id: 'b', type: 'wait' }],
      colour: 'red',
    };
    expect(findings(definition)).toEqual([
      'INVALID_NAME /id',
      'MISSING_FIELD ',
      'BAD_DURATION /deadline',
      'OUT_OF_RANGE /nodes/0/retry/maxAttempts',
      'MISSING_FIELD /nodes/1',
      'UNKNOWN_FIELD /colour',
      'UNKNOWN_NODE /nodes/0/after/0',
    ]);
  });

  it.each([
    ['', 'NOT_JSON '],
    ['{', 'NOT_JSON '],
    ['"\u0000"', 'NOT_JSON '],
    ['[]', 'WRONG_TYPE '],
    ['['.repeat(200), 'TOO_DEEP '],
    [`"${'x'.repeat(3_500_000)}"`, 'TOO_LARGE '],
  ])('is not even a definition: %.20s', (text, finding) => {
    expect(findings(text)).toEqual([finding]);
  });

  it.each([
    ['no nodes', order([]), 'NO_NODES /nodes'],
    ['nodes that are missing', { id: 'o', version: 1 }, 'MISSING_FIELD '],
    ['nodes that are no array', order({}), 'WRONG_TYPE /nodes'],
    ['a node that is no object', order([1]), 'WRONG_TYPE /nodes/0'],
    ['a node without an id', order([{ type: 'task', queue: 'q' }]), 'MISSING_FIELD /nodes/0'],
    ['a node without a type', order([{ id: 'a' }]), 'MISSING_FIELD /nodes/0'],
    ['a task without a queue', order([{ id: 'a', type: 'task' }]), 'MISSING_FIELD /nodes/0'],
    ['a version of 0', order([node('a')], { version: 0 }), 'OUT_OF_RANGE /version'],
    ['a version in a string', order([node('a')], { version: '1' }), 'WRONG_TYPE /version'],
    ['a fractional version', order([node('a')], { version: 1.5 }), 'WRONG_TYPE /version'],
    ['an unknown choice', order([node('a')], { onDeadline: 'explode' }), 'INVALID_VALUE /onDeadline'],
    ['an input that is no schema', order([node('a')], { input: 'text' }), 'WRONG_TYPE /input'],
    ['an unknown field of a node', order([node('a', { quue: 1 })]), 'UNKNOWN_FIELD /nodes/0/quue'],
    ['a field of another type', order([node('a', { signal: 's' })]), 'UNKNOWN_FIELD /nodes/0/signal'],
    ['a queue with a dot (R28)', order([node('a', { queue: 'a.b' })]), 'INVALID_NAME /nodes/0/queue'],
    ['a handler with a space', order([node('a', { task: 'a b' })]), 'INVALID_NAME /nodes/0/task'],
    ['a compensator without a handler', order([node('a', { compensate: {} })]), 'MISSING_FIELD /nodes/0/compensate'],
    [
      'compensateOn without compensate',
      order([node('a', { compensateOn: ['UNKNOWN'] })]),
      'INVALID_VALUE /nodes/0/compensateOn',
    ],
    [
      'an unknown outcome',
      order([node('a', { compensate: { task: 'u' }, compensateOn: ['MAYBE', 'UNKNOWN'] })]),
      'INVALID_VALUE /nodes/0/compensateOn',
    ],
    [
      'a maxInterval below the initial one',
      order([node('a', { retry: { initialInterval: 'PT10S', maxInterval: 'PT5S' } })]),
      'OUT_OF_RANGE /nodes/0/retry/maxInterval',
    ],
    ['a bad expression', order([node('a', { input: '!' })]), 'BAD_EXPRESSION /nodes/0/input/in'],
    ['a bad expression in the output', order([node('a')], { output: '!' }), 'BAD_EXPRESSION /output/in'],
  ])('%s', (_name, definition, finding) => {
    expect(findings(definition)).toEqual([finding]);
  });

  it('a field that is given twice', () => {
    expect(findings('{"id":"o","id":"p","version":1,"nodes":[{"id":"a","type":"wait","signal":"s"}]}')).toEqual([
      'DUPLICATE_FIELD /id',
    ]);
  });

  it.each([0, -1, 1.5, '3', 1e9, null, true, {}])('B32: maxAttempts %j', (maxAttempts) => {
    const pointers = issuesOf(order([node('x'), node('y'), node('a', { retry: { maxAttempts } })]));
    expect(pointers.map((issue) => issue.pointer)).toEqual(['/nodes/2/retry/maxAttempts']);
  });

  it.each([0, 'PT0S', -5, '-PT5S', '30', null])('B32: a timeout of %j', (startToClose) => {
    expect(issuesOf(order([node('a', { timeouts: { startToClose } })])).map((issue) => issue.pointer)).toEqual([
      '/nodes/0/timeouts/startToClose',
    ]);
  });

  it('B56: PT30D is refused, and P30D is meant', () => {
    expect(issuesOf(order([{ id: 'w', type: 'wait', signal: 's', timeout: 'PT30D' }]))).toMatchObject([
      { code: 'BAD_DURATION', pointer: '/nodes/0/timeout', message: expect.stringContaining('P30D is meant') },
    ]);
  });

  it('what comes later is told from what does not exist', () => {
    const nodes = [
      { id: 's', type: 'switch', cases: [] },
      { id: 'd', type: 'delay', for: 'PT5M' },
      node('a', { when: 'true' }),
      node('b', { after: ['a:failed'] }),
      { id: 'w', type: 'wait', signal: 's', schema: {} },
      { id: 'x', type: 'teleport' },
    ];
    expect(findings(order(nodes, { searchAttributes: {} }))).toEqual([
      'NOT_AVAILABLE /nodes/0/type',
      'NOT_AVAILABLE /nodes/1/type',
      'NOT_AVAILABLE /nodes/2/when',
      'NOT_AVAILABLE /nodes/3/after/0',
      'NOT_AVAILABLE /nodes/4/schema',
      'INVALID_VALUE /nodes/5/type',
      'NOT_AVAILABLE /searchAttributes',
    ]);
  });
});

describe('ids (B87)', () => {
  it.each([
    ' pay',
    'pay ',
    'sns:Notify',
    'Is Task Complete?',
    '__proto__',
    'constructor',
    'toString',
    '1a',
    '',
    'é',
    'a'.repeat(65),
  ])('refuses %j', (id) => {
    expect(findings(order([node(id)]))).toEqual(['INVALID_NAME /nodes/0/id']);
  });

  it.each(['a', 'Pay_2-x', 'a'.repeat(64)])('accepts %j', (id) => {
    expect(parse(order([node(id)])).ok).toBe(true);
  });

  it('lists every place of an id that is used twice, also where only the case differs', () => {
    const issues = issuesOf(order([node('pay'), node('x'), node('Pay'), node('pay')]));
    expect(issues.map((issue) => `${issue.code} ${issue.pointer}`)).toEqual([
      'DUPLICATE_ID /nodes/0/id',
      'DUPLICATE_ID /nodes/2/id',
      'DUPLICATE_ID /nodes/3/id',
    ]);
    expect(issues[0]?.message).toContain('/nodes/0/id, /nodes/2/id, /nodes/3/id');
  });
});

describe('edges (B88)', () => {
  it('an unknown one, with the name that is meant where only the case differs', () => {
    expect(issuesOf(order([node('cancel-order'), node('b', { after: ['Cancel-Order'] })]))).toMatchObject([
      { code: 'UNKNOWN_NODE', pointer: '/nodes/1/after/0', message: expect.stringContaining('cancel-order is meant') },
    ]);
  });

  it('to itself, and twice to the same node', () => {
    expect(findings(order([node('a', { after: ['a'] }), node('b', { after: ['a', 'a'] })]))).toEqual([
      'DUPLICATE_EDGE /nodes/1/after/1',
      'SELF_REFERENCE /nodes/0/after/0',
    ]);
  });

  it('a cycle is printed, and what can only be reached from it is told apart', () => {
    const nodes = [
      node('a', { after: ['c'] }),
      node('b', { after: ['a'] }),
      node('c', { after: ['b'] }),
      node('below', { after: ['c'] }),
      node('fine'),
    ];
    const issues = issuesOf(order(nodes));
    expect(issues).toMatchObject([
      { code: 'CYCLE', message: 'a cycle: a → b → c → a' },
      { code: 'UNREACHABLE', pointer: '/nodes/3' },
    ]);
  });

  it('two cycles are two findings', () => {
    const nodes = [
      node('a', { after: ['b'] }),
      node('b', { after: ['a'] }),
      node('c', { after: ['d', 'a'] }),
      node('d', { after: ['c'] }),
    ];
    expect(issuesOf(order(nodes)).map((issue) => issue.message)).toEqual(
      expect.arrayContaining(['a cycle: a → b → a', 'a cycle: c → d → c']),
    );
  });
});

describe('what templates read', () => {
  it('must lie above: the node itself, a sibling and what comes later do not', () => {
    const nodes = [
      node('a', { input: '@a' }),
      node('b', { after: ['a'], input: '@c' }),
      node('c', { after: ['b'], input: '@a @b @sibling @nobody' }),
      node('sibling'),
    ];
    expect(findings(order(nodes))).toEqual([
      'NOT_UPSTREAM /nodes/0/input/in',
      'NOT_UPSTREAM /nodes/1/input/in',
      'NOT_UPSTREAM /nodes/2/input/in',
      'UNKNOWN_NODE /nodes/2/input/in',
    ]);
  });

  it('an undo may read its own node, the output of the run any node', () => {
    const compensate = { task: 'undo', input: '@a' };
    expect(parse(order([node('a', { compensate }), node('b')], { output: '@a @b' })).ok).toBe(true);
    expect(
      findings(order([node('a', { compensate: { task: 'undo', input: '@b' } }), node('b')], { output: '@x' })),
    ).toEqual(['NOT_UPSTREAM /nodes/0/compensate/input/in', 'UNKNOWN_NODE /output/in']);
  });

  it('is not judged on a cycle', () => {
    const nodes = [node('a', { after: ['b'], input: '@b' }), node('b', { after: ['a'] })];
    expect(findings(order(nodes))).toEqual(['CYCLE /nodes/0/after']);
  });
});

describe('large definitions', () => {
  it('B88: 10,000 nodes in layers of 10, each after all of the layer above, are checked without walking paths', () => {
    const nodes = Array.from({ length: 10_000 }, (_, index) => {
      const layer = Math.floor(index / 10);
      const after = layer === 0 ? [] : Array.from({ length: 10 }, (_unused, k) => `n${(layer - 1) * 10 + k}`);
      return node(`n${index}`, { after, ...(index > 500 ? { input: '@n7' } : {}) });
    });
    const parsed = parse(order(nodes));
    expect(parsed.ok && parsed.dag.order).toHaveLength(10_000);
  });

  it('a cycle through 10,000 nodes is found without recursion, and its print is bounded', () => {
    const nodes = Array.from({ length: 10_000 }, (_, index) =>
      node(`n${index}`, { after: [`n${(index + 9_999) % 10_000}`] }),
    );
    const issues = issuesOf(order(nodes));
    expect(issues).toHaveLength(1);
    expect(issues[0]?.message).toMatch(/^a cycle of 10000 nodes: n0 → n1 → .* → … → n0$/);
  });

  it('more nodes or edges than the limit are refused', () => {
    const many = Array.from({ length: 10_001 }, (_, index) => node(`n${index}`));
    expect(findings(order(many))).toEqual(['TOO_MANY_NODES /nodes']);
    const ids = Array.from({ length: 400 }, (_, index) => `n${index}`);
    const dense = [...ids.map((id) => node(id)), ...ids.map((id) => node(`m${id}`, { after: ids }))];
    expect(findings(order(dense))).toEqual(['TOO_MANY_EDGES /nodes']);
  });

  it('findings are listed up to a limit', () => {
    const nodes = Array.from({ length: 1_000 }, (_, index) => node(`n${index}`, { after: ['nobody'] }));
    const issues = issuesOf(order(nodes));
    expect(issues).toHaveLength(501);
    expect(issues.at(-1)?.code).toBe('TOO_MANY_ISSUES');
  });
});
