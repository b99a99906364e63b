import type { TaskKind } from '@baton/core';
import type { LeasedTask } from '@baton/engine';

const LARGEST = 10_000;

/** Of which kind the leases are that this process was given. A memory aid: what it has forgotten is read. */
export class LeaseBook {
  private readonly kinds = new Map<string, TaskKind>();

  remember(leased: readonly LeasedTask[]): void {
    for (const { leaseId, kind } of leased) this.kinds.set(leaseId, kind);
    // Leases that were lost are never reported; the oldest go first.
    for (const leaseId of this.kinds.keys()) {
      if (this.kinds.size <= LARGEST) return;
      this.kinds.delete(leaseId);
    }
  }

  kindOf({ leaseId }: { readonly leaseId: string }): TaskKind | undefined {
    return this.kinds.get(leaseId);
  }

  forget({ leaseId }: { readonly leaseId: string }): void {
    this.kinds.delete(leaseId);
  }
}
