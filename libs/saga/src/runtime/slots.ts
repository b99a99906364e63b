/**
 * The resident pool: as many steps run at once as there are slots. A slot is taken before a lease is asked for, so that
 * no lease ever waits for a slot, and given back one by one, so that one wedged step holds up nobody else (W20).
 */
export class Slots {
  private taken = 0;
  private onIdle: (() => void) | undefined;

  constructor(
    readonly size: number,
    /** A slot has become free. */
    private readonly onFree: () => void,
  ) {}

  get free(): number {
    return this.size - this.taken;
  }

  /** Takes as many as there are, at most `max`; answers how many. */
  take(max: number): number {
    const count = Math.max(0, Math.min(max, this.free));
    this.taken += count;
    return count;
  }

  give(count: number): void {
    this.taken -= count;
    if (count > 0) this.onFree();
    if (this.taken === 0) this.onIdle?.();
  }

  /** Resolves when all are free. Asked for once, when nothing new takes any. */
  async idle(): Promise<void> {
    if (this.taken > 0) await new Promise<void>((resolve) => (this.onIdle = resolve));
  }
}
