import { setTimeout as delay } from 'node:timers/promises';
import type { LibraryFleet } from './library-fleet.js';

export interface KillPlan {
  readonly forMs: number;
  /** Pause between two kills: random up to twice this. */
  readonly pauseMs: number;
  /** When the server of the sagas ends at once and starts again, from the beginning on. */
  readonly serverEndsAtMs: readonly number[];
  readonly random: () => number;
}

export interface Kills {
  readonly processes: number;
  readonly serverRestarts: number;
}

/** SIGKILL to a process taken at random, again and again, each started again at once; the server in between. */
export async function killAtRandom(fleet: LibraryFleet, plan: KillPlan): Promise<Kills> {
  const startedAt = performance.now();
  const elapsed = (): number => performance.now() - startedAt;
  const ends = [...plan.serverEndsAtMs];
  let processes = 0;
  let serverRestarts = 0;
  while (elapsed() < plan.forMs) {
    if (elapsed() >= (ends[0] ?? Infinity)) {
      ends.shift();
      await fleet.postgres.stopImmediately();
      await fleet.postgres.restart();
      serverRestarts += 1;
    }
    // What ended by itself, because it started while there was no server.
    for (const service of fleet.services) service.start();
    const running = fleet.services.filter((service) => service.running);
    const victim = running[Math.floor(plan.random() * running.length)];
    if (victim !== undefined) {
      await victim.kill();
      processes += 1;
      victim.start();
    }
    await delay(plan.pauseMs * 2 * plan.random());
  }
  return { processes, serverRestarts };
}
