import { parseTaskMessage } from './task-message.js';
import { taskMessage } from './testing/messages.js';

const type = 'task.dispatched';

describe('a task message', () => {
  it('keeps the bytes of its input', () => {
    const input = '{"n":12345678901234567890, "z":1,"a":[ ],"t":",\\"input\\":","é":"\\u00e9"}';
    const parsed = parseTaskMessage(taskMessage({ attempt: 7 }, input), type);
    expect(parsed).toMatchObject({ ok: true, task: { attempt: 7, nodeId: 'ship', input } });
  });

  it('is not misled by names that look like the field', () => {
    const parsed = parseTaskMessage(taskMessage({ nodeId: 'a,"input":' }, '[1]'), type);
    expect(parsed).toMatchObject({ ok: true, task: { nodeId: 'a,"input":', input: '[1]' } });
  });

  it('without an input is complete: the input comes with the lease', () => {
    const parsed = parseTaskMessage(taskMessage({}, null), type);
    expect(parsed.ok && parsed.task.input).toBeUndefined();
  });

  it.each([
    ['a tombstone', null, type],
    ['an empty value', Buffer.alloc(0), type],
    ['text', Buffer.from('not json'), type],
    ['an array', Buffer.from('[]'), type],
    ['null', Buffer.from('null'), type],
    ['an unknown type', taskMessage(), 'task.imagined'],
    ['no attempt', taskMessage({ attempt: undefined }), type],
    ['an attempt that is text', taskMessage({ attempt: '1' }), type],
    ['an attempt beyond 31 bits', taskMessage({ attempt: 2_147_483_648 }), type],
    ['a negative attempt', taskMessage({ attempt: -1 }), type],
    ['half an attempt', taskMessage({ attempt: 1.5 }), type],
    ['an unknown kind', taskMessage({ kind: 'sideways' }), type],
    ['a cut value', taskMessage().subarray(0, -3), type],
    ['an input of another length', taskMessage({ inputBytes: 99 }), type],
    ['brackets without end', Buffer.from('['.repeat(5_000)), type],
  ])('that is %s cannot be read, and says why (B106, B111)', (_what, value, header) => {
    const parsed = parseTaskMessage(value, header);
    expect(parsed.ok).toBe(false);
    expect(!parsed.ok && parsed.reason).not.toBe('');
  });
});
