import { eventually, type Platform } from '@baton/testkit';
import type { OrderFeeder } from '../order-feeder.js';

export interface ServerFault {
  readonly name: string;
  readonly happen: (platform: Platform) => Promise<void>;
}

/** Ends of PostgreSQL and Kafka, each with a new start on the same data and port. */
export const SERVER_FAULTS: readonly ServerFault[] = [
  {
    name: 'PostgreSQL stopped in immediate mode',
    happen: async ({ postgres }) => {
      await postgres.stopImmediately();
      await postgres.restart();
    },
  },
  {
    name: 'Kafka killed',
    happen: async ({ kafka }) => {
      await kafka.kill();
      await kafka.restart();
    },
  },
  {
    name: 'both killed, Kafka back first',
    happen: async ({ postgres, kafka }) => {
      await Promise.all([postgres.kill(), kafka.kill()]);
      await kafka.restart();
      await postgres.restart();
    },
  },
  {
    name: 'both ended, PostgreSQL back first',
    happen: async ({ postgres, kafka }) => {
      await Promise.all([postgres.stopImmediately(), kafka.kill()]);
      await postgres.restart();
      await kafka.restart();
    },
  },
];

export interface FaultFigures {
  readonly fault: string;
  readonly inFlight: number;
  /** From the server's new start until so many more runs had ended. */
  readonly recoveredMs: number;
}

export interface FaultLimits {
  /** Runs in flight when it happens. */
  readonly inFlight: number;
  /** Runs that must end afterwards: the platform has come back by itself. */
  readonly endAfterwards: number;
}

/** Lets a fault happen in the middle of the feeder's runs, and waits until the platform is at work again. */
export async function letHappen(
  fault: ServerFault,
  platform: Platform,
  feeder: OrderFeeder,
  limits: FaultLimits,
): Promise<FaultFigures> {
  const before = feeder.endedSoFar;
  await eventually(() => feeder.open.size >= limits.inFlight && feeder.endedSoFar > before, {
    timeoutMs: 300_000,
    what: `${limits.inFlight} runs in flight before: ${fault.name}`,
  });
  const inFlight = feeder.open.size;
  await fault.happen(platform);
  const backAt = performance.now();
  const wanted = feeder.endedSoFar + limits.endAfterwards;
  await eventually(() => feeder.endedSoFar >= wanted, {
    timeoutMs: 300_000,
    intervalMs: 100,
    what: `${limits.endAfterwards} runs end after: ${fault.name}`,
  });
  return { fault: fault.name, inFlight, recoveredMs: Math.round(performance.now() - backAt) };
}

export function pidsOf(platform: Platform): Readonly<Record<string, number>> {
  return Object.fromEntries([...platform.services].map(([name, service]) => [name, service.running ? service.pid : 0]));
}
