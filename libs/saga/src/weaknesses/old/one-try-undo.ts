import type { Clock } from '../../executor/types.js';
import { settle } from '../../testing/fake-clock.js';

type Undo = (signal: AbortSignal) => unknown;

/**
 * The old behaviour of W4 and W5: an undo is called once, without a timeout; whatever it throws is recorded as its failure,
 * an interruption too; and what is recorded is never tried again.
 */
export class OneTryUndo {
  private recorded: 'compensated' | 'compensation_failed' | null = null;
  private controller = new AbortController();

  constructor(
    readonly clock: Clock,
    private readonly undo: Undo,
  ) {}

  start(): void {
    void this.walk();
  }

  /** The process stops, and another one takes the run over: it walks what is not recorded yet. */
  async restart(): Promise<void> {
    this.controller.abort();
    await settle();
    this.controller = new AbortController();
    if (this.recorded === null) void this.walk();
  }

  get status(): string {
    return this.recorded ?? 'compensating';
  }

  private async walk(): Promise<void> {
    const { signal } = this.controller;
    try {
      await this.undo(signal);
      this.recorded ??= 'compensated';
    } catch {
      // The memory journal takes the record although the context has ended.
      this.recorded ??= 'compensation_failed';
    }
  }
}
