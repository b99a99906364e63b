/** An entry of the old runtime's log. */
export interface OldEntry {
  readonly kind: string;
  readonly step: string | null;
  readonly attempt: number | null;
  readonly code: string | null;
}

export interface OldStep {
  readonly name: string;
  /** What each try of it comes to; the last one counts. */
  readonly tries: readonly ('ok' | string)[];
}

/**
 * The old behaviour of W6, W14 and W15: tries are forgotten, a failure before an undo is only a reason, an undo whose
 * record failed counts as done, and only completed steps are told.
 */
export class OldSaga {
  readonly log: OldEntry[] = [];
  readonly events: { readonly type: string; readonly payload: Readonly<Record<string, unknown>> }[] = [];
  status = 'running';
  private readonly committed: string[] = [];

  constructor(private readonly recordUndo: () => void = () => undefined) {}

  run(steps: readonly OldStep[]): void {
    for (const { name, tries } of steps) {
      const last = tries.at(-1) ?? 'ok';
      if (last !== 'ok') return this.compensate(last);
      this.committed.push(name);
      this.enter('step_completed', name);
      this.events.push({ type: 'saga.old.step_completed', payload: { instanceId: 'run', step: name } });
    }
    this.end('succeeded');
  }

  private compensate(reason: string): void {
    this.enter('compensation_started', null, reason);
    for (const name of [...this.committed].reverse()) {
      try {
        this.recordUndo();
        this.enter('step_compensated', name);
      } catch {
        // Logged only.
      }
    }
    this.end('compensated');
  }

  private end(status: string): void {
    this.status = status;
    this.enter(`saga_${status}`, null);
  }

  private enter(kind: string, step: string | null, code: string | null = null): void {
    this.log.push({ kind, step, attempt: null, code });
  }
}

/** The old behaviour of W17: each step begins by reading the whole log of its run, and the end is a call of its own. */
export class OldReplay {
  /** Entries that were read, by step. */
  readonly reads: number[] = [];
  private entries = 0;

  runStep(): void {
    this.reads.push(this.entries);
    this.entries += 1;
  }
}
