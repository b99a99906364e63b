/** A task message as the engine builds it: the input is the last field, as raw text. */
export function taskMessage(fields: Readonly<Record<string, unknown>> = {}, input: string | null = '{}'): Buffer {
  const envelope = {
    runId: '01920000-0000-7000-8000-000000000002',
    taskId: '01920000-0000-7000-8000-000000000001',
    nodeId: 'ship',
    item: 0,
    kind: 'forward',
    generation: 1,
    attempt: 1,
    queue: 'shipping',
    handler: 'ship',
    definitionId: 'order',
    definitionVersion: 1,
    idempotencyKey: 'r/ship/0/forward/1',
    inputBytes: input === null ? 40_000 : Buffer.byteLength(input),
    ...fields,
  };
  const text = JSON.stringify(envelope);
  return Buffer.from(input === null ? text : `${text.slice(0, -1)},"input":${input}}`);
}
