export interface OldStep {
  readonly name: string;
  /** Longer than its timeout? */
  readonly isLate: boolean;
  readonly undo: (() => void) | null;
}

/** The old behaviour of W3: a step or a run that is late ends the run as expired, whatever was done before. */
export function oldRunWithTimeouts(steps: readonly OldStep[], done: (step: string) => void): 'succeeded' | 'expired' {
  for (const { name, isLate } of steps) {
    done(name);
    if (isLate) return 'expired';
  }
  return 'succeeded';
}
