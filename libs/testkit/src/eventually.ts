import { setTimeout as delay } from 'node:timers/promises';

export interface EventuallyOptions {
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
  /** What is waited for: named in the error. */
  readonly what?: string;
}

/**
 * Asks until the answer is truthy and returns it. A check that throws counts as "not yet"; its last error is told
 * when the time is over.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { timeoutMs = 15_000, intervalMs = 25, what = 'a condition' }: EventuallyOptions = {},
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await check();
      if (answer) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() >= deadline) break;
    await delay(intervalMs);
  }
  const reason = last instanceof Error ? last.message : JSON.stringify(last);
  throw new Error(`Waited ${timeoutMs} ms for ${what}; last: ${reason}`, { cause: last });
}
