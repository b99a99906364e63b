import { RetryLater, TaskError } from './errors.js';
import { verdictOfError, type VerdictRules } from './verdict.js';

const rules: VerdictRules = {
  untyped: () => ({ code: 'UNTYPED', message: 'no TaskError' }),
  badResult: ({ code, message }) => ({ kind: 'failed', code, message, retryable: false }),
};

const refusing = (thrown: object): object =>
  new Proxy(thrown, {
    get: () => {
      throw new Error('trap');
    },
  });

describe('the verdict of what user code threw', () => {
  it.each<[string, object]>([
    ['a TaskError', new TaskError('CODE', 'message')],
    ['a RetryLater', new RetryLater(5)],
  ])('of %s that lets nobody read it is that of any other error: it never throws', (_what, thrown) => {
    const verdict = verdictOfError(refusing(thrown), undefined, rules);
    expect(verdict).toEqual({ kind: 'failed', code: 'UNTYPED', message: 'no TaskError', retryable: true });
    expect(verdictOfError(refusing(thrown), 'WORKER_STOPPING', rules)).toEqual({ kind: 'released', notStarted: false });
  });
});
