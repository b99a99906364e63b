import { BusError, toBusError } from './errors.js';

/** As kafkajs wraps what it gave up on. */
const wrapped = (type: string, depth: number): Error => {
  let error: Error = Object.assign(new Error(type), { name: 'KafkaJSProtocolError', type });
  for (let i = 0; i < depth; i += 1) {
    error = Object.assign(new Error('wrapper', { cause: error }), { name: 'KafkaJSNumberOfRetriesExceeded' });
  }
  return error;
};

describe('A failure of the bus', () => {
  it.each([
    ['MESSAGE_TOO_LARGE', 'too-large'],
    ['RECORD_LIST_TOO_LARGE', 'too-large'],
    ['UNKNOWN_TOPIC_OR_PARTITION', 'unknown-topic'],
    ['INVALID_TOPIC_EXCEPTION', 'invalid-topic'],
    ['NOT_LEADER_FOR_PARTITION', 'retry'],
    ['NOT_ENOUGH_REPLICAS', 'retry'],
    ['REQUEST_TIMED_OUT', 'retry'],
    ['TOPIC_AUTHORIZATION_FAILED', 'retry'],
  ])('%s is %s, however often it was wrapped', (type, kind) => {
    for (const depth of [0, 1, 3]) expect(toBusError(wrapped(type, depth))).toMatchObject({ kind, code: type });
  });

  it('of several topics at once is what the first one says', () => {
    const error = Object.assign(new Error('many'), { errors: [wrapped('INVALID_TOPIC_EXCEPTION', 0)] });
    expect(toBusError(error)).toMatchObject({ kind: 'invalid-topic' });
  });

  it.each([new TypeError('x'), 'text', null, undefined, { message: 1 }])(
    'of an unknown kind is tried again: %p',
    (error) => {
      expect(toBusError(error).kind).toBe('retry');
    },
  );

  it('stays itself', () => {
    const error = new BusError('retry', 'X', 'x');
    expect(toBusError(error)).toBe(error);
  });

  it('ends on a cause that is a circle', () => {
    const error = new Error('a') as Error & { cause?: unknown };
    error.cause = error;
    expect(toBusError(error).kind).toBe('retry');
  });
});
