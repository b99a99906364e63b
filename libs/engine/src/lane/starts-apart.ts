/** Each of them may hold a connection for as long as the lock timeout is. */
const AT_ONCE = 2;

/**
 * R30: starts whose key is held by somebody's open transaction. They wait beside the lanes, a few at a time, so that
 * nothing else of the process waits with them.
 */
export class StartsApart {
  private readonly waiting: (() => Promise<void>)[] = [];
  private running = 0;
  private idleWaiters: (() => void)[] = [];

  /** `work` answers its caller in any case; it must not reject. */
  push(work: () => Promise<void>): void {
    this.waiting.push(work);
    this.next();
  }

  /** Resolves when none is waiting. */
  whenIdle(): Promise<void> {
    if (this.running === 0) return Promise.resolve();
    return new Promise((resolve) => this.idleWaiters.push(resolve));
  }

  private next(): void {
    while (this.running < AT_ONCE) {
      const work = this.waiting.shift();
      if (work === undefined) break;
      this.running += 1;
      void work().finally(() => {
        this.running -= 1;
        this.next();
      });
    }
    if (this.running > 0) return;
    for (const resolve of this.idleWaiters.splice(0)) resolve();
  }
}
