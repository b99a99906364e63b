import { auditLibrary, untilAllEnded, type LibraryVerdict } from './audit-library.js';
import { killAtRandom, type Kills, type KillPlan } from './killer.js';
import type { ServiceProcess } from '@baton/testkit';
import type { LibraryFleet } from './library-fleet.js';
import { OrderLoad, type LoadOptions } from './order-load.js';
import { seededRandom } from './seeded-random.js';

export interface ChaosPlan {
  readonly load: Omit<LoadOptions, 'random'>;
  readonly kills: Omit<KillPlan, 'random'>;
  readonly seed: number;
  /** For the rest of the runs, when nothing is killed any more. */
  readonly endWithinMs: number;
}

export interface ChaosResult extends LibraryVerdict {
  readonly kills: Kills;
}

/** Orders are placed while processes and the server end; then everything comes to rest, and is judged. */
export async function libraryChaos(
  fleet: LibraryFleet,
  { load, kills, seed, endWithinMs }: ChaosPlan,
): Promise<ChaosResult> {
  const orders = new OrderLoad(fleet, { ...load, random: seededRandom(seed) }).place();
  orders.catch(() => undefined); // Told below.
  const done = await killAtRandom(fleet, { ...kills, random: seededRandom(seed + 1) });
  await Promise.all(fleet.services.map((service) => readyInTheEnd(service, 120_000)));
  const placed = await orders;
  await untilAllEnded(fleet, endWithinMs);
  await fleet.stopServices();
  return { kills: done, ...(await auditLibrary(fleet, placed)) };
}

/** A service that finds no database at its start ends; whoever runs it starts it again, as an orchestrator does. */
async function readyInTheEnd(service: ServiceProcess, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs;
  for (;;) {
    service.start(); // nothing, where it runs
    try {
      return await service.ready(Math.max(1, until - performance.now()));
    } catch (error) {
      if (service.running || performance.now() > until) throw error;
    }
  }
}
