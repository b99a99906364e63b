import { keepResult, type Platform } from '@baton/testkit';
import {
  concludeChaos,
  type FaultFigures,
  letHappen,
  OrderFeeder,
  pidsOf,
  type Rest,
  SERVER_FAULTS,
  startOrderPlatform,
} from '../src/index.js';

/** Started and not ended at one time. */
const OPEN_RUNS = 110;
const LIMITS = { inFlight: 100, endAfterwards: 30 };
const LEAST_RUNS = 400;
const MOST_RUNS = 20_000;

/** PostgreSQL and Kafka end in the middle of a hundred runs and come back; no service is started again. */
describe('order runs while PostgreSQL and Kafka end and come back', () => {
  let platform: Platform;
  let rest: Rest;

  beforeAll(async () => {
    ({ platform, rest } = await startOrderPlatform({ stepMs: 200, readyWithinMs: 600_000 }));
  }, 900_000);

  afterAll(async () => {
    await platform?.stop();
  }, 120_000);

  it(`every run ends as it should, with ${LIMITS.inFlight} in flight each time, and nothing is started by hand`, async () => {
    const startedAt = performance.now();
    const pids = pidsOf(platform);
    const feeder = new OrderFeeder(rest, { least: LEAST_RUNS, most: MOST_RUNS, open: OPEN_RUNS, patienceMs: 600_000 });
    const feeding = feeder.feed();
    feeding.catch(() => undefined); // Told below, after the faults.
    const faults: FaultFigures[] = [];
    for (const fault of SERVER_FAULTS) {
      faults.push(await letHappen(fault, platform, feeder, LIMITS));
      process.stdout.write(`chaos: ${JSON.stringify(faults.at(-1))}\n`);
    }
    feeder.enough();
    const outcomes = await feeding;
    const { problems, figures, examined } = await concludeChaos(platform, outcomes);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    process.stdout.write(`${JSON.stringify({ seconds, ...figures })}\n`);
    keepResult('soak-servers', { seconds, problems, faults, ...figures, examined });
    expect(problems).toEqual([]);
    expect(pidsOf(platform)).toEqual(pids);
    expect(outcomes.length).toBeGreaterThanOrEqual(LEAST_RUNS);
  }, 1_500_000);
});
