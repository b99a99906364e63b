import type { Clock } from '../../executor/types.js';

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

/** Time that moves when a test says so. */
export class ManualClock implements Clock {
  private nowMs = 0;
  private readonly timers = new Set<Timer>();

  now(): number {
    return this.nowMs;
  }

  after(ms: number, fire: () => void): () => void {
    const timer = { at: this.nowMs + ms, fire };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  /** What is armed; for tests that nothing leaks. */
  get pending(): number {
    return this.timers.size;
  }

  /** Fires what becomes due, in order, and lets the promises of each run out. */
  async advance(ms: number): Promise<void> {
    const until = this.nowMs + ms;
    await settle();
    for (;;) {
      const [next] = [...this.timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.timers.delete(next);
      this.nowMs = Math.max(this.nowMs, next.at);
      next.fire();
      await settle();
    }
    this.nowMs = until;
    await settle();
  }
}

/** Everything that can go on without time does. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}
