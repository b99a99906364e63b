import { setTimeout as delay } from 'node:timers/promises';

export interface PollOptions {
  readonly timeoutMs: number;
  readonly intervalMs?: number;
}

/** Asks again and again until the answer is not undefined; undefined when the time is over. */
export async function pollUntil<T>(
  ask: () => T | undefined | Promise<T | undefined>,
  options: PollOptions,
): Promise<T | undefined> {
  const deadline = performance.now() + options.timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() >= deadline) return undefined;
    await delay(options.intervalMs ?? 20);
  }
}
