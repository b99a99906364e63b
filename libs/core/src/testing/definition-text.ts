import type { CompensateSpec, Dag, NodeSpec, RetryPolicy, Template, TimeoutPolicy } from '../definition/model.js';
import type { JsonText } from '../run/state.js';

/** A random graph as somebody would publish it: what `parseDefinition` reads back. */
export function definitionText(dag: Dag, id = dag.definitionId): JsonText {
  const { spec, version } = dag;
  return JSON.stringify({
    id,
    version,
    deadline: duration(spec.deadlineMs),
    onDeadline: spec.onDeadline,
    compensation: spec.compensation,
    compensationTimeout: duration(spec.compensationTimeoutMs),
    nodes: spec.nodes.map(nodeOf),
    output: spec.output === null ? undefined : templateOf(spec.output),
  });
}

function nodeOf(node: NodeSpec): object {
  const { id, type, after } = node;
  if (type === 'wait') return { id, type, after, signal: node.signal, timeout: duration(node.timeoutMs) };
  return {
    id,
    type,
    after,
    queue: node.queue,
    task: node.handler,
    input: node.input === null ? undefined : templateOf(node.input),
    ...policiesOf(node),
    compensate: node.compensate === null ? undefined : undoOf(node.compensate),
    compensateOn: node.compensate === null ? undefined : node.compensateOn,
  };
}

function undoOf(undo: CompensateSpec): object {
  return { task: undo.handler, queue: undo.queue, ...policiesOf(undo) };
}

function policiesOf({ retry, timeouts }: { readonly retry: RetryPolicy; readonly timeouts: TimeoutPolicy }): object {
  const { initialIntervalMs, maxIntervalMs, ...rest } = retry;
  return {
    retry: { ...rest, initialInterval: duration(initialIntervalMs), maxInterval: duration(maxIntervalMs) },
    timeouts: {
      scheduleToStart: duration(timeouts.scheduleToStartMs),
      startToClose: duration(timeouts.startToCloseMs),
      heartbeat: duration(timeouts.heartbeatMs),
      scheduleToClose: duration(timeouts.scheduleToCloseMs),
    },
  };
}

/** Templates of the graphs are functions; the text reads the same facts. */
function templateOf({ nodes, usesInput }: Template): object {
  const outputs = nodes.map((nodeId) => [nodeId, `\${nodes.${nodeId}.output}`]);
  return { ...Object.fromEntries(outputs), ...(usesInput ? { input: '${input}' } : {}) };
}

function duration(ms: number | null): string | undefined {
  return ms === null ? undefined : `PT${ms / 1_000}S`;
}
