import type { TaskNode, Template, TemplateResult } from '../definition/model.js';
import type { Failure, JsonText, TaskState } from './state.js';
import type { Transition } from './transition.js';

export type Rendered =
  { readonly ok: true; readonly text: JsonText } | { readonly ok: false; readonly failure: Failure };

/** What a task receives whose definition gives no input. */
const NO_INPUT: JsonText = '{}';

/** Input of a node that starts now. undefined: a fact is missing (and asked for). */
export function renderForwardInput(t: Transition, node: TaskNode): Rendered | undefined {
  if (node.input === null) return { ok: true, text: NO_INPUT };
  const result = render(t, node.input, (nodeId) => t.rows.current(nodeId));
  if (result === undefined || result.ok) return result;
  return { ok: false, failure: { code: 'INPUT_UNRESOLVED', message: result.message, nodeId: node.id } };
}

/**
 * Input of an undo: what its forward step received and answered. Rendered when it is dispatched and not when it is
 * planned: a step that was cut off may still report its output (R18).
 */
export function renderUndoInput(t: Transition, node: TaskNode, forward: TaskState): Rendered | undefined {
  const template = node.compensate?.input ?? null;
  if (template === null) {
    const input = t.inputOf(forward.taskId);
    const output = t.outputOf(forward.taskId);
    if (input === undefined || output === undefined) return undefined;
    return { ok: true, text: `{"input":${input ?? 'null'},"output":${output ?? 'null'}}` };
  }
  // The outputs that this execution of the step could see: none of a later generation.
  const result = render(
    t,
    template,
    (nodeId) =>
      nodeId === node.id ? forward : t.rows.of(nodeId, 'forward').find((row) => row.generation <= forward.generation),
    new Map([[node.id, 'null']]), // a step that never answered
  );
  if (result === undefined || result.ok) return result;
  return { ok: false, failure: { code: 'INPUT_UNRESOLVED', message: result.message, nodeId: node.id } };
}

/** Output of a run that SUCCEEDED; null = its definition gives none. */
export function renderRunOutput(t: Transition): Rendered | null | undefined {
  const template = t.dag.spec.output;
  if (template === null) return null;
  const result = render(t, template, (nodeId) => t.rows.current(nodeId));
  if (result === undefined || result.ok) return result;
  return { ok: false, failure: { code: 'OUTPUT_UNRESOLVED', message: result.message } };
}

function render(
  t: Transition,
  template: Template,
  rowOf: (nodeId: string) => TaskState | undefined,
  defaults: ReadonlyMap<string, JsonText> = new Map(),
): TemplateResult | undefined {
  const input = template.usesInput ? t.runInput() : null;
  const outputs = new Map(defaults);
  let complete = input !== undefined;
  for (const nodeId of template.nodes) {
    const row = rowOf(nodeId);
    if (row === undefined || row.status !== 'SUCCEEDED') continue;
    const output = t.outputOf(row.taskId);
    if (output === undefined) complete = false;
    else if (output !== null) outputs.set(nodeId, output);
  }
  if (!complete || input === undefined) return undefined;
  const { runId, definitionId, definitionVersion } = t.state;
  return template.render({
    input,
    output: (nodeId) => outputs.get(nodeId),
    run: { id: runId, definition: definitionId, version: definitionVersion },
  });
}
