/** Prints what happens, with the seconds since the start. Long steps say every few seconds that they go on. */
export class Progress {
  private readonly started = performance.now();

  constructor(
    private readonly write: (line: string) => void,
    private readonly tickMs = 5_000,
  ) {}

  readonly say = (line: string): void => {
    this.write(`[${this.seconds().padStart(5)} s] ${line}`);
  };

  /** Waits for a step. `pending` names what is still missing, for the reminders. */
  async step<T>(title: string, work: Promise<T>, pending: () => string = () => ''): Promise<T> {
    const ticker = setInterval(() => {
      const missing = pending();
      this.say(missing === '' ? `${title}: not done yet` : `${title}: waiting for ${missing}`);
    }, this.tickMs);
    try {
      return await work;
    } finally {
      clearInterval(ticker);
    }
  }

  seconds(): string {
    return ((performance.now() - this.started) / 1000).toFixed(1);
  }
}
