import { buildDag } from '../definition/graph.js';
import type {
  CompensateSpec,
  Dag,
  DefinitionSpec,
  NodeSpec,
  RetryPolicy,
  TaskNode,
  Template,
  TemplateResult,
  TemplateScope,
  TimeoutPolicy,
  WaitNode,
} from '../definition/model.js';

const RETRY: RetryPolicy = {
  maxAttempts: 3,
  initialIntervalMs: 1_000,
  backoff: 2,
  maxIntervalMs: 60_000,
  jitter: 0,
  nonRetryable: [],
};

const TIMEOUTS: TimeoutPolicy = {
  scheduleToStartMs: null,
  startToCloseMs: 3_600_000,
  heartbeatMs: 30_000,
  scheduleToCloseMs: null,
};

export interface TaskOptions extends Partial<Omit<TaskNode, 'type' | 'id' | 'retry' | 'timeouts' | 'compensate'>> {
  readonly retry?: Partial<RetryPolicy>;
  readonly timeouts?: Partial<TimeoutPolicy>;
  /** true = an undo with defaults. */
  readonly compensate?: true | UndoOptions;
}

export interface UndoOptions extends Partial<Omit<CompensateSpec, 'retry' | 'timeouts'>> {
  readonly retry?: Partial<RetryPolicy>;
  readonly timeouts?: Partial<TimeoutPolicy>;
}

export function task(id: string, options: TaskOptions = {}): TaskNode {
  const { retry, timeouts, compensate, ...rest } = options;
  return {
    type: 'task',
    id,
    after: [],
    queue: 'work',
    handler: id,
    input: null,
    compensateOn: ['SUCCEEDED', 'UNKNOWN'],
    ...rest,
    retry: { ...RETRY, ...retry },
    timeouts: { ...TIMEOUTS, ...timeouts },
    compensate: compensate === undefined ? null : undo(id, compensate === true ? {} : compensate),
  };
}

function undo(id: string, options: UndoOptions): CompensateSpec {
  const { retry, timeouts, ...rest } = options;
  return {
    queue: 'work',
    handler: `undo-${id}`,
    input: null,
    ...rest,
    retry: { ...RETRY, maxAttempts: 10, ...retry },
    timeouts: { ...TIMEOUTS, ...timeouts },
  };
}

export function wait(id: string, options: Partial<Omit<WaitNode, 'type' | 'id'>> = {}): WaitNode {
  return { type: 'wait', id, after: [], signal: id, timeoutMs: null, ...options };
}

export interface DefinitionOptions extends Partial<Omit<DefinitionSpec, 'nodes'>> {
  readonly version?: number;
}

export function definition(nodes: readonly NodeSpec[], options: DefinitionOptions = {}): Dag {
  const { version = 1, ...rest } = options;
  const spec: DefinitionSpec = {
    id: 'order',
    inputSchema: null,
    deadlineMs: null,
    onDeadline: 'compensate',
    compensation: 'parallel',
    compensationTimeoutMs: null,
    output: null,
    ...rest,
    nodes,
  };
  return buildDag(spec, version);
}

/** Nodes in a chain: each after the one before it. */
export function chain(...nodes: readonly NodeSpec[]): NodeSpec[] {
  return nodes.map((node, index) => {
    const before = nodes[index - 1];
    return before === undefined ? node : { ...node, after: [before.id] };
  });
}

/** A template in the shape of a function; core does not know the language of expressions. */
export function template(
  reads: { readonly input?: true; readonly nodes?: readonly string[] },
  render: (scope: TemplateScope) => TemplateResult | string | undefined,
): Template {
  const nodes = reads.nodes ?? [];
  return {
    usesInput: reads.input === true,
    nodes,
    references: nodes.map((nodeId) => ({ nodeId, pointer: '' })),
    render(scope) {
      const result = render(scope);
      if (result === undefined) return { ok: false, code: 'PATH_NOT_FOUND', message: 'there is no such path' };
      return typeof result === 'string' ? { ok: true, text: result } : result;
    },
  };
}

/** The whole input of the run. */
export const wholeInput = template({ input: true }, (scope) => scope.input ?? 'null');

/** The whole output of a node. */
export function outputOf(nodeId: string): Template {
  return template({ nodes: [nodeId] }, (scope) => scope.output(nodeId));
}
