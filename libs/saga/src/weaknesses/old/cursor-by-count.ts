/**
 * The old behaviour of W12: where a run stands is the number of its completed steps, names are not compared, and no
 * version is kept. A process that does not know the definition ends the run as failed.
 */
export class CursorByCount {
  private readonly completed: string[] = [];
  private ended: 'succeeded' | 'failed' | null = null;

  constructor(private steps: readonly string[] | null) {}

  /** A process with this code goes on; null = with code that does not have the saga. */
  deploy(steps: readonly string[] | null): void {
    this.steps = steps;
  }

  /** Runs one step, and answers its name; null = there is none that this process could run. */
  step(): string | null {
    if (this.ended !== null) return null;
    if (this.steps === null) {
      this.ended = 'failed';
      return null;
    }
    const name = this.steps[this.completed.length];
    if (name === undefined) {
      this.ended = 'succeeded';
      return null;
    }
    this.completed.push(name);
    if (this.completed.length === this.steps.length) this.ended = 'succeeded';
    return name;
  }

  get status(): string {
    return this.ended ?? 'running';
  }
}
