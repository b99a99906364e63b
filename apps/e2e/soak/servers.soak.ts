import { eventually, keepResult, Platform } from '@baton/testkit';
import { concludeChaos, OrderFeeder, Rest } from '../src/index.js';

/** Started and not ended at one time. */
const OPEN_RUNS = 100;
const LEAST_RUNS = 400;
const MOST_RUNS = 20_000;
/** Runs that must end after a fault before the next one: the platform has come back by itself. */
const ENDED_BETWEEN = 30;

/** PostgreSQL and Kafka end in the middle of a hundred runs and come back; no service is started again. */
describe('order runs while PostgreSQL and Kafka end and come back', () => {
  let platform: Platform;
  let rest: Rest;

  beforeAll(async () => {
    platform = await Platform.start({
      coordinators: 2,
      relays: 2,
      timerServices: 2,
      workers: 3,
      // The workers' own database stays: what fails here is Baton's.
      ledger: 'own-server',
      workerEnv: { BATON_STEP_MS: '200' },
    });
    rest = new Rest(platform.gatewayUrl);
    await rest.publishExample();
  }, 300_000);

  afterAll(async () => {
    await platform?.stop();
  }, 120_000);

  it(`every run ends as it should, with ${OPEN_RUNS} in flight at each stop, and nothing is restarted by hand`, async () => {
    const startedAt = performance.now();
    const pids = pidsOf(platform);
    const feeder = new OrderFeeder(rest, { least: LEAST_RUNS, most: MOST_RUNS, open: OPEN_RUNS, patienceMs: 600_000 });
    const feeding = feeder.feed();
    feeding.catch(() => undefined); // Told below, after the faults.
    const faults: { readonly fault: string; readonly inFlight: number; readonly backAfterMs: number }[] = [];
    for (const [fault, happen] of faultsOf(platform)) {
      const before = feeder.endedSoFar;
      await eventually(() => feeder.open.size >= OPEN_RUNS * 0.9 && feeder.endedSoFar > before, {
        timeoutMs: 300_000,
        what: `${OPEN_RUNS} runs in flight before: ${fault}`,
      });
      const inFlight = feeder.open.size;
      await happen();
      const backAt = performance.now();
      await untilMoreHaveEnded(feeder, fault);
      faults.push({ fault, inFlight, backAfterMs: Math.round(performance.now() - backAt) });
    }
    feeder.enough();
    const outcomes = await feeding;
    const { problems, figures, examined } = await concludeChaos(platform, outcomes);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    process.stdout.write(`${JSON.stringify({ seconds, faults, ...figures })}\n`);
    keepResult('soak-servers', { seconds, problems, faults, ...figures, examined });
    expect(problems).toEqual([]);
    expect(pidsOf(platform)).toEqual(pids);
    expect(outcomes.length).toBeGreaterThanOrEqual(LEAST_RUNS);
    for (const { inFlight } of faults) expect(inFlight).toBeGreaterThanOrEqual(OPEN_RUNS * 0.9);
  }, 1_500_000);
});

function faultsOf({ postgres, kafka }: Platform): readonly (readonly [string, () => Promise<void>])[] {
  return [
    ['PostgreSQL stopped in immediate mode', () => postgres.stopImmediately().then(() => postgres.restart())],
    ['Kafka killed', () => kafka.kill().then(() => kafka.restart())],
    [
      'both ended, Kafka back first',
      async () => {
        await Promise.all([postgres.kill(), kafka.kill()]);
        await kafka.restart();
        await postgres.restart();
      },
    ],
    [
      'both ended, PostgreSQL back first',
      async () => {
        await Promise.all([postgres.stopImmediately(), kafka.kill()]);
        await postgres.restart();
        await kafka.restart();
      },
    ],
  ];
}

async function untilMoreHaveEnded(feeder: OrderFeeder, fault: string): Promise<void> {
  const before = feeder.endedSoFar;
  await eventually(() => feeder.endedSoFar >= before + ENDED_BETWEEN, {
    timeoutMs: 300_000,
    intervalMs: 100,
    what: `${ENDED_BETWEEN} runs end after: ${fault}`,
  });
}

function pidsOf(platform: Platform): Readonly<Record<string, number>> {
  return Object.fromEntries([...platform.services].map(([name, service]) => [name, service.running ? service.pid : 0]));
}
