import type { IssueList } from './issues.js';
import { isHandlerName, isNodeId, isQueueName } from './names.js';
import { ObjectReader, type NotAvailable, type ReadContext } from './reader.js';
import { DEFAULT_MAX_ATTEMPTS, DEFAULT_UNDO_MAX_ATTEMPTS, readRetry, readTimeouts } from './read-policies.js';
import type { CompensateSpec, NodeSpec, TaskNode, WaitNode } from './model.js';
import type { JsonNode } from '../json/parse.js';

/** A node as read: `spec` is complete only if nothing was wrong; `id` and `after` serve the checks of the graph. */
export interface ReadNode {
  readonly index: number;
  readonly id: string | undefined;
  readonly after: readonly Edge[];
  readonly spec: NodeSpec | undefined;
}

export interface Edge {
  readonly to: string;
  readonly index: number;
}

const NODE_ID_RULE = 'a letter, then letters, digits, "_" or "-", at most 64, and no name that every object has';
const QUEUE_RULE = 'lower-case letters, digits and "-", at most 63';
const HANDLER_RULE = 'letters, digits and ". _ : / -", at most 128';

const TYPES_NOT_AVAILABLE: ReadonlySet<string> = new Set(['switch', 'join', 'delay', 'map', 'run']);

const FIELDS_NOT_AVAILABLE: NotAvailable = new Map([
  ['when', 'conditions on nodes are not available yet'],
  ['join', 'only "all settled, one taken" is available yet'],
  ['schema', 'schemas of signals are not available yet'],
]);

export function readNode(context: ReadContext, node: JsonNode, index: number): ReadNode {
  const reader = ObjectReader.of(context, node, ['nodes', index]);
  if (reader === undefined) return { index, id: undefined, after: [], spec: undefined };
  reader.required('id', 'each node has one');
  const id = reader.name('id', isNodeId, NODE_ID_RULE);
  const after = readAfter(reader, context.issues);
  reader.string('title');
  reader.string('description');
  const base = { id: id ?? '', after: after.map((edge) => edge.to) };
  const type = reader.expectString(reader.required('type', 'task or wait'), reader.pathOf('type'));
  let spec: NodeSpec | undefined;
  if (type === 'task') spec = readTask(reader, base, context.issues);
  else if (type === 'wait') spec = readWait(reader, base);
  else if (type !== undefined) {
    refuseType(reader, type, context.issues);
    return { index, id, after, spec: undefined }; // its fields are those of a type that we do not know
  }
  reader.refuseOthers(FIELDS_NOT_AVAILABLE);
  return { index, id, after, spec };
}

function refuseType(reader: ObjectReader, type: string, issues: IssueList): void {
  const path = reader.pathOf('type');
  if (TYPES_NOT_AVAILABLE.has(type)) issues.error('NOT_AVAILABLE', path, `nodes of type ${type} are not available yet`);
  else issues.error('INVALID_VALUE', path, 'expected task or wait');
}

function readAfter(reader: ObjectReader, issues: IssueList): readonly Edge[] {
  const edges: Edge[] = [];
  const seen = new Set<string>();
  const items = reader.items('after') ?? [];
  items.forEach((item, index) => {
    const path = [...reader.pathOf('after'), index];
    const to = reader.expectString(item, path);
    if (to === undefined) return;
    if (to.includes(':')) {
      issues.error('NOT_AVAILABLE', path, `edges on an outcome, such as ${JSON.stringify(to)}, are not available yet`);
    } else if (seen.has(to)) {
      issues.error('DUPLICATE_EDGE', path, `${to} is listed twice`);
    } else {
      seen.add(to);
      edges.push({ to, index });
    }
  });
  return edges;
}

type Base = Pick<TaskNode, 'id' | 'after'>;

function readTask(reader: ObjectReader, base: Base, issues: IssueList): TaskNode {
  reader.required('queue', 'the queue whose workers do it');
  const queue = reader.name('queue', isQueueName, QUEUE_RULE) ?? '';
  const node: Omit<TaskNode, 'compensate' | 'compensateOn'> = {
    ...base,
    type: 'task',
    queue,
    handler: reader.name('task', isHandlerName, HANDLER_RULE) ?? base.id,
    input: reader.template('input') ?? null,
    retry: readRetry(reader, DEFAULT_MAX_ATTEMPTS, issues),
    timeouts: readTimeouts(reader),
  };
  const compensate = readCompensate(reader, queue, issues);
  return { ...node, compensate, compensateOn: readCompensateOn(reader, issues) };
}

function readCompensate(owner: ObjectReader, queue: string, issues: IssueList): CompensateSpec | null {
  const reader = owner.object('compensate');
  if (reader === undefined) return null;
  reader.required('task', 'the handler that undoes the node');
  const spec: CompensateSpec = {
    queue: reader.name('queue', isQueueName, QUEUE_RULE) ?? queue,
    handler: reader.name('task', isHandlerName, HANDLER_RULE) ?? '',
    input: reader.template('input') ?? null,
    retry: readRetry(reader, DEFAULT_UNDO_MAX_ATTEMPTS, issues),
    timeouts: readTimeouts(reader),
  };
  reader.refuseOthers();
  return spec;
}

const OUTCOMES = ['SUCCEEDED', 'UNKNOWN', 'FAILED'] as const;

function readCompensateOn(reader: ObjectReader, issues: IssueList): TaskNode['compensateOn'] {
  const values = reader.strings('compensateOn');
  if (values === undefined) return ['SUCCEEDED', 'UNKNOWN'];
  const path = reader.pathOf('compensateOn');
  if (!reader.has('compensate')) issues.error('INVALID_VALUE', path, 'the node has no compensate');
  if (values.length === 0) issues.error('INVALID_VALUE', path, 'name at least one outcome, or leave it out');
  const outcomes = OUTCOMES.filter((outcome) => values.includes(outcome));
  if (values.some((value) => !OUTCOMES.some((outcome) => outcome === value))) {
    issues.error('INVALID_VALUE', path, `expected some of ${OUTCOMES.join(', ')}`);
  }
  return outcomes;
}

function readWait(reader: ObjectReader, base: Base): WaitNode {
  reader.required('signal', 'the name of the signal that it waits for');
  return {
    ...base,
    type: 'wait',
    signal: reader.name('signal', isHandlerName, HANDLER_RULE) ?? '',
    timeoutMs: reader.duration('timeout', 1) ?? null,
  };
}
