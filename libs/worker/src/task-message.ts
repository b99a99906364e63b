import type { TaskKind } from '@baton/core';

/** What a task topic carries (type `task.dispatched`). Everything but the input, which stays text. */
export interface TaskMessage {
  readonly runId: string;
  readonly taskId: string;
  readonly nodeId: string;
  readonly item: number;
  readonly kind: TaskKind;
  readonly generation: number;
  /** The fencing token. */
  readonly attempt: number;
  readonly queue: string;
  readonly handler: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly idempotencyKey: string;
  /** JSON text, byte for byte; undefined = over 32 KiB, it comes with the lease. */
  readonly input: string | undefined;
}

export type ParsedMessage =
  { readonly ok: true; readonly task: TaskMessage } | { readonly ok: false; readonly reason: string };

export const TASK_MESSAGE_TYPE = 'task.dispatched';

/**
 * The envelope is small and parsed; the input is its last field and is cut out as text, never parsed here.
 * A quotation mark inside a JSON string is escaped, so the first `,"input":` is the field itself.
 */
const INPUT_FIELD = ',"input":';

export function parseTaskMessage(value: Buffer | null, type: string | undefined): ParsedMessage {
  if (value === null || value.length === 0) return { ok: false, reason: 'the message is empty' };
  if (type !== undefined && type !== TASK_MESSAGE_TYPE) return { ok: false, reason: `unknown type ${cut(type)}` };
  const text = value.toString('utf8');
  const at = text.indexOf(INPUT_FIELD);
  let envelope: unknown;
  try {
    envelope = JSON.parse(at < 0 ? text : `${text.slice(0, at)}}`);
  } catch {
    return { ok: false, reason: 'the message is not JSON' };
  }
  const input = at < 0 ? undefined : text.slice(at + INPUT_FIELD.length, -1);
  return checkEnvelope(envelope, input, text.at(-1) === '}');
}

const TEXT_FIELDS = ['runId', 'taskId', 'nodeId', 'queue', 'handler', 'definitionId', 'idempotencyKey'] as const;
const NUMBER_FIELDS = ['item', 'generation', 'attempt', 'definitionVersion', 'inputBytes'] as const;

function checkEnvelope(envelope: unknown, input: string | undefined, closed: boolean): ParsedMessage {
  if (typeof envelope !== 'object' || envelope === null) return { ok: false, reason: 'the message is not an object' };
  const fields = envelope as Record<string, unknown>;
  for (const name of TEXT_FIELDS) {
    if (typeof fields[name] !== 'string' || fields[name] === '') return { ok: false, reason: `${name} is missing` };
  }
  for (const name of NUMBER_FIELDS) {
    if (!isCount(fields[name]))
      return { ok: false, reason: `${name} is missing or not a whole number from 0 to 2^31-1` };
  }
  const kind = fields['kind'];
  if (kind !== 'forward' && kind !== 'compensate')
    return { ok: false, reason: 'kind is neither forward nor compensate' };
  if (input !== undefined && (!closed || Buffer.byteLength(input) !== fields['inputBytes'])) {
    return { ok: false, reason: 'the input does not have the length that inputBytes says' };
  }
  return { ok: true, task: { ...(envelope as Omit<TaskMessage, 'input'>), input } };
}

/** What the coordinator's messages can hold: a larger number would break the stream for every other message too. */
function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 2_147_483_647;
}

function cut(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
