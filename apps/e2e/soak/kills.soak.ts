import { keepResult, type Platform } from '@baton/testkit';
import { ChaosMonkey, concludeChaos, OrderFeeder, type Rest, startOrderPlatform } from '../src/index.js';

const LEAST_RUNS = 300;
const MOST_RUNS = 5_000;
/** Started and not ended at one time: there is always something to lose. */
const OPEN_RUNS = 40;
const KINDS = ['coordinator', 'relay', 'timer', 'worker'];
const KILLS_OF_A_KIND = 5;

/**
 * The long form of chaos.e2e.ts: at least 300 order runs, and every kind of process killed with SIGKILL at least five
 * times while it had events in flight, and started again.
 */
describe('order runs while every kind of process is killed again and again', () => {
  let platform: Platform;
  let rest: Rest;

  beforeAll(async () => {
    ({ platform, rest } = await startOrderPlatform({ stepMs: 150, readyWithinMs: 600_000 }));
  }, 900_000);

  afterAll(async () => {
    await platform?.stop();
  }, 120_000);

  it(`at least ${LEAST_RUNS} runs end as they should after ${KILLS_OF_A_KIND} kills of each kind`, async () => {
    const startedAt = performance.now();
    const monkey = new ChaosMonkey(platform);
    const limits = { least: LEAST_RUNS, most: MOST_RUNS, open: OPEN_RUNS, patienceMs: 600_000 };
    const feeder = new OrderFeeder(rest, limits);
    const feeding = feeder.feed();
    feeding.catch(() => undefined); // Told below, after the kills.
    for (let round = 0; round < KILLS_OF_A_KIND; round += 1) {
      for (const kind of KINDS) await monkey.killWithWorkInFlight(kind);
    }
    await monkey.untilBack();
    feeder.enough();
    const outcomes = await feeding;
    const { problems, figures, examined } = await concludeChaos(platform, outcomes);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    process.stdout.write(`${monkey.report()}${JSON.stringify({ seconds, ...figures })}\n`);
    const kills = Object.fromEntries(KINDS.map((kind) => [kind, monkey.countsOf(kind)]));
    keepResult('soak-kills', { seconds, problems, kills, ...figures, examined });
    expect(problems).toEqual([]);
    expect(outcomes.length).toBeGreaterThanOrEqual(LEAST_RUNS);
    for (const kind of KINDS) expect(monkey.counted(kind)).toBeGreaterThanOrEqual(KILLS_OF_A_KIND);
  }, 1_500_000);
});
