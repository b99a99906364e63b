import type { Locker } from '../../leader/locker.js';
import type { Clock } from '../../executor/types.js';

interface Instance {
  readonly id: string;
  readonly steps: readonly string[];
  done: number;
  leasedUntil: number;
}

export interface OldCoordinatorParts {
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly run: (step: string) => void;
  readonly locker?: Locker;
}

/**
 * The old behaviour of W1 and W2: instances are leased, a claim drives one step and keeps the lease, and a lease comes
 * before the lock. No more of it than the checks need.
 */
export class OldCoordinator {
  private readonly instances: Instance[] = [];

  constructor(private readonly parts: OldCoordinatorParts) {}

  add(id: string, ...steps: readonly string[]): void {
    this.instances.push({ id, steps, done: 0, leasedUntil: Number.NEGATIVE_INFINITY });
  }

  start(): void {
    const tick = () => {
      void this.tick();
      this.parts.clock.after(this.parts.pollMs, tick);
    };
    tick();
  }

  private async tick(): Promise<void> {
    const { clock, leaseMs, locker, run } = this.parts;
    const claimable = this.instances.filter(
      ({ leasedUntil, done, steps }) => leasedUntil < clock.now() && done < steps.length,
    );
    for (const instance of claimable) {
      instance.leasedUntil = clock.now() + leaseMs;
      // W2: skipped, and leased all the same.
      if (locker !== undefined && (await locker.acquire(instance.id, leaseMs)) === null) continue;
      const step = instance.steps[instance.done];
      if (step === undefined) continue;
      run(step);
      // W1: the lease is neither given back nor used for the next step.
      instance.done += 1;
    }
  }
}
