import {
  AttemptAborted,
  NonRetryableError,
  retryLater,
  TaskError,
  verdictOfError as errorVerdict,
  verdictOfResult as resultVerdict,
  type AbortCause,
} from '@baton/execution';
import { workerRules } from './verdict.js';

const verdictOfError = (thrown: unknown, aborted: AbortCause | undefined) => errorVerdict(thrown, aborted, workerRules);
const verdictOfResult = (value: unknown) => resultVerdict(value, workerRules);

class Unspeakable extends Error {
  override get message(): string {
    throw new Error('no');
  }
}

const refusing: unknown = new Proxy(
  {},
  {
    getPrototypeOf: () => {
      throw new Error('no');
    },
    get: () => {
      throw new Error('no');
    },
  },
);

describe('what a handler threw (B43)', () => {
  it('is a failure that the policy may retry', () => {
    expect(verdictOfError(new Error('boom'), undefined)).toEqual({
      kind: 'failed',
      code: 'TASK_FAILED',
      message: 'boom',
      retryable: true,
    });
    expect(verdictOfError(new TaskError('CARRIER_DOWN', 'no answer'), undefined)).toMatchObject({
      code: 'CARRIER_DOWN',
      retryable: true,
    });
  });

  it('may be for good', () => {
    expect(verdictOfError(new NonRetryableError('PAYMENT_DECLINED'), undefined)).toEqual({
      kind: 'failed',
      code: 'PAYMENT_DECLINED',
      message: 'PAYMENT_DECLINED',
      retryable: false,
    });
  });

  it('may be no failure at all: try later', () => {
    expect(verdictOfError(retryLater(1_500), undefined)).toEqual({ kind: 'deferred', delayMs: 1_500 });
    expect(verdictOfResult(retryLater(10))).toEqual({ kind: 'deferred', delayMs: 10 });
    expect(() => retryLater(-1)).toThrow(RangeError);
    expect(() => retryLater(NaN)).toThrow(RangeError);
  });

  it('B29: may be a later try in 100 years, and not one that no report can hold', () => {
    const century = 36_500 * 86_400_000;
    expect(verdictOfError(retryLater(century), undefined)).toEqual({ kind: 'deferred', delayMs: century });
    for (const ms of [century + 1, 1e20, Infinity]) expect(() => retryLater(ms)).toThrow(RangeError);
  });

  it.each([
    ['a number as code', new NonRetryableError(404 as never), { code: '404', message: '404' }],
    ['no code', new NonRetryableError(undefined as never, 'gone'), { code: 'TASK_FAILED', message: 'gone' }],
    ['a message that is no text', Object.assign(new Error(), { message: { a: 1 } }), { message: '[object Object]' }],
    ['a message without a text', Object.assign(new Error(), { message: Object.create(null) }), { message: '' }],
  ])('B76: may have %s, as plain JavaScript allows', (_what, thrown, expected) => {
    expect(verdictOfError(thrown, undefined)).toMatchObject({ kind: 'failed', ...expected });
  });

  it.each([
    ['a string', 'kaput', 'kaput'],
    ['an empty string', '', 'the handler threw an empty string'],
    ['undefined', undefined, 'the handler threw undefined'],
    ['null', null, 'the handler threw null'],
    ['a number', 7, 'the handler threw 7'],
    ['an object', { a: 1 }, 'the handler threw {"a":1}'],
    ['a BigInt', 10n, 'the handler threw a bigint'],
    ['an error without text', new TypeError(), 'TypeError'],
    ['an error whose message is a getter that throws', new Unspeakable(), ''],
    ['a proxy that refuses everything', refusing, 'the handler threw a object'],
    ['text with NUL', new Error('a\0b'), 'a\uFFFDb'],
  ])('may be %s', (_what, thrown, message) => {
    expect(verdictOfError(thrown, undefined)).toMatchObject({ kind: 'failed', code: 'TASK_FAILED', message });
  });
});

describe('after an abort', () => {
  const abort = (code: 'CANCELLED' | 'LEASE_LOST' | 'TIMEOUT' | 'WORKER_STOPPING') =>
    verdictOfError(new AttemptAborted(code), code);

  it('of a cancelled step its outcome is not known: the attempt is given back, so that the undo runs (R17, R18)', () => {
    expect(abort('CANCELLED')).toEqual({ kind: 'released', notStarted: false });
    expect(verdictOfError(new Error('fetch failed'), 'CANCELLED')).toEqual({ kind: 'released', notStarted: false });
  });

  it('by a stopping worker the attempt is given back (R13)', () => {
    expect(abort('WORKER_STOPPING')).toEqual({ kind: 'released', notStarted: false });
  });

  it('of a lost lease or a timeout there is nothing to say: the engine ends the attempt by itself', () => {
    expect(abort('LEASE_LOST')).toEqual({ kind: 'silent' });
    expect(abort('TIMEOUT')).toEqual({ kind: 'silent' });
  });

  it('a failure that the handler says is definite still counts', () => {
    expect(verdictOfError(new NonRetryableError('DECLINED'), 'CANCELLED')).toMatchObject({
      kind: 'failed',
      code: 'DECLINED',
    });
  });
});
