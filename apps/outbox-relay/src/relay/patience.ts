import { setTimeout as sleep } from 'node:timers/promises';

/** The session that this work belongs to is over. Never an error to report. */
export class SessionOver extends Error {
  override readonly name = 'SessionOver';
}

/** Stops work of a session that is over, or whose process has stood still (L5). Throws SessionOver. */
export interface Guard {
  readonly signal: AbortSignal;
  check(): void;
}

const FIRST_MS = 20;
const MAX_MS = 2000;

/** Backoff with jitter that ends with the session. */
export class Patience {
  private nextMs = FIRST_MS;

  constructor(private readonly guard: Guard) {}

  async wait(): Promise<void> {
    const ms = this.nextMs * (0.5 + Math.random());
    this.nextMs = Math.min(this.nextMs * 2, MAX_MS);
    try {
      await sleep(ms, undefined, { signal: this.guard.signal });
    } catch {
      throw new SessionOver('the session ended while a retry was waiting');
    }
    this.guard.check();
  }
}
