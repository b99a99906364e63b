import type { RunState } from '@baton/core';
import type { Collector } from '../collector.js';
import type { Invariant } from '../report.js';

export interface FindingAbout {
  readonly nodeId?: string | null | undefined;
  /** Task id, or 'run': a later check that stumbles over the same thing says nothing more. */
  readonly about?: string;
}

/** What is found on one run. One cause should be one finding: what is blamed is not blamed again by its consequences. */
export class Verdict {
  private readonly blamed = new Set<string>();
  private readonly said = new Set<string>();

  constructor(
    private readonly collector: Collector,
    private readonly state: RunState,
  ) {}

  add(invariant: Invariant, code: string, message: string, { nodeId, about }: FindingAbout = {}): void {
    if (about !== undefined) this.blamed.add(about);
    // The same of one node (or of the run) many times over is said once.
    const same = `${code} ${nodeId ?? ''}`;
    if (this.said.has(same)) return;
    this.said.add(same);
    const { runId, namespace } = this.state;
    this.collector.add({ invariant, code, message, namespace, runId, ...(nodeId != null && { nodeId }) });
  }

  blame(about: string): void {
    this.blamed.add(about);
  }

  isBlamed(about: string): boolean {
    return this.blamed.has(about);
  }
}
