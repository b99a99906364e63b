import { AttemptAborted, textOf, type VerdictRules } from '@baton/execution';

export const TASK_FAILED = 'TASK_FAILED';

/** What a worker records: the message of whatever was thrown; another try may bring a better result. */
export const workerRules: VerdictRules = {
  untyped: (thrown) => ({ code: TASK_FAILED, message: describe(thrown) }),
  badResult: ({ code, message }) => ({ kind: 'failed', code, message, retryable: true }),
};

/** Anything can be thrown: strings, undefined, objects whose toString throws. */
function describe(thrown: unknown): string {
  try {
    if (thrown instanceof AttemptAborted) return thrown.message;
    if (thrown instanceof Error) return textOf(() => thrown.message || thrown.name);
    if (typeof thrown === 'string') return thrown || 'the handler threw an empty string';
    return `the handler threw ${JSON.stringify(thrown) ?? String(thrown)}`;
  } catch {
    return `the handler threw a ${typeof thrown}`;
  }
}
