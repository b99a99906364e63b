import type { Clock } from '../executor/types.js';

/** Time that moves when a test says so. Timers fire in the order of their instants, then of their making. */
export interface FakeClock extends Clock {
  /** Moves time, firing what becomes due at its own instant, and lets the promises that follow run in between. */
  advance(ms: number): Promise<void>;
  /** Timers that have been neither fired nor stopped. */
  readonly pending: number;
}

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

/** `startAt`: what `now()` says at first. */
export function fakeClock(startAt = 1_000): FakeClock {
  let now = startAt;
  const timers = new Set<Timer>();
  const nextDue = (until: number): Timer | undefined => {
    let next: Timer | undefined;
    for (const timer of timers) if (timer.at <= until && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  };
  return {
    now: () => now,
    after(ms, fire) {
      const timer = { at: now + Math.max(0, ms), fire };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (let timer = nextDue(until); timer !== undefined; timer = nextDue(until)) {
        timers.delete(timer);
        now = Math.max(now, timer.at);
        timer.fire();
        await settle();
      }
      now = until;
    },
    get pending() {
      return timers.size;
    },
  };
}

/** Lets what is ready to run do so: promises, and I/O that needs no waiting. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
