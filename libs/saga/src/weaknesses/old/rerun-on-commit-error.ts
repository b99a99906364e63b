import type { Clock } from '../../executor/types.js';

/**
 * The old behaviour of W8: a step's output is first looked at when it is appended. That fails, nothing is written, and the
 * next claim runs the step again: with every lease, for ever, since no count of attempts outlives a drive.
 */
export class RerunOnCommitError {
  status = 'running';

  constructor(
    private readonly clock: Clock,
    private readonly step: () => unknown,
    private readonly leaseMs: number,
  ) {}

  start(): void {
    const output = this.step();
    try {
      this.append(output);
      this.status = 'succeeded';
    } catch {
      this.clock.after(this.leaseMs, () => this.start());
    }
  }

  private append(output: unknown): void {
    const text = JSON.stringify(output);
    if (text.length > 65_536) throw new RangeError('the payload is too large');
  }
}
