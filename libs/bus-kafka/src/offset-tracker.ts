/**
 * Owns: which offsets of one topic-partition were handed out and which of them are done.
 * The position is what may be committed: every offset below it is done (R10). It never goes down.
 */
export class OffsetTracker {
  private readonly open: bigint[] = [];
  private head = 0;
  private readonly doneAhead = new Set<bigint>();
  private end: bigint | null = null;
  private committed: bigint | null = null;

  /** Offsets come in order; those that were handed out before (the same batch again) are known already. */
  deliver(offset: bigint): void {
    if (this.end !== null && offset < this.end) return;
    this.open.push(offset);
    this.end = offset + 1n;
  }

  done(offset: bigint): void {
    if (this.isDone(offset)) return;
    this.doneAhead.add(offset);
    let first = this.open[this.head];
    while (first !== undefined && this.doneAhead.delete(first)) {
      this.head += 1;
      first = this.open[this.head];
    }
    if (this.head > 1024 && this.head * 2 > this.open.length) {
      this.open.splice(0, this.head);
      this.head = 0;
    }
  }

  isDone(offset: bigint): boolean {
    const position = this.position();
    return (position !== null && offset < position) || this.doneAhead.has(offset);
  }

  /** The first offset that is not done; null = nothing was handed out. */
  position(): bigint | null {
    return this.open[this.head] ?? this.end;
  }

  /** What a commit would add to the last one; null = nothing. */
  toCommit(): bigint | null {
    const position = this.position();
    const first = this.open[0];
    if (position === null || position === this.committed) return null;
    if (this.committed === null && this.head === 0 && position === first) return null;
    return position;
  }

  wasCommitted(position: bigint): void {
    if (this.committed === null || position > this.committed) this.committed = position;
  }
}
