import { SessionOver, type Guard } from './patience.js';

/*
 * L5: a reader that lost its connection, or whose process stood still long enough for another to take over, stops its
 * retry loops before anything else. A process that was frozen runs its timers first when it wakes, before it
 * hears that its connection is gone; so everything that sends asks here first, and a beat that is missing ends the session.
 */

const BEAT_MS = 250;

export class SessionGuard implements Guard {
  private readonly ending = new AbortController();
  private readonly beat: NodeJS.Timeout;
  private beatAt = performance.now();
  private cause: Error | null = null;

  constructor(private readonly stallMs: number) {
    this.beat = setInterval(() => {
      if (this.stalled()) return;
      this.beatAt = performance.now();
    }, BEAT_MS);
  }

  get signal(): AbortSignal {
    return this.ending.signal;
  }

  /** Why the session ended; null = it was asked to. */
  get failure(): Error | null {
    return this.cause;
  }

  check(): void {
    if (this.ending.signal.aborted || this.stalled()) throw new SessionOver('the session is over');
  }

  fail(error: Error): void {
    if (!this.ending.signal.aborted) this.cause = error;
    this.end();
  }

  end(): void {
    clearInterval(this.beat);
    this.ending.abort();
  }

  private stalled(): boolean {
    const silentMs = performance.now() - this.beatAt;
    if (silentMs <= this.stallMs) return false;
    this.fail(new Error(`the process stood still for ${Math.round(silentMs)} ms; another relay may have taken over`));
    return true;
  }
}
