import type { Platform } from '@baton/testkit';
import { ChaosMonkey, concludeChaos, OrderFeeder, type Rest, startOrderPlatform } from '../src/index.js';

const LEAST_RUNS = 100;
const MOST_RUNS = 2_000;
/** Started and not ended at one time: there is always something to lose. */
const OPEN_RUNS = 30;
const TARGETS = ['coordinator-1', 'relay', 'worker-1', 'timer', 'coordinator-2', 'worker-2'];

/**
 * At least 100 order runs while every kind of process is killed with SIGKILL and started again. A kill counts only if the
 * process had events in flight at that moment. Afterwards Baton is compared with what the workers wrote into a ledger
 * of their own, never with itself.
 */
describe('order runs while processes are killed', () => {
  let platform: Platform;
  let rest: Rest;

  beforeAll(async () => {
    ({ platform, rest } = await startOrderPlatform({ stepMs: 150, ledger: true }));
  }, 240_000);

  afterAll(async () => {
    await platform?.stop();
  }, 60_000);

  it(`every one of at least ${LEAST_RUNS} runs ends as it should, the ledger agrees, and the doctor finds nothing`, async () => {
    const monkey = new ChaosMonkey(platform);
    const feeder = new OrderFeeder(rest, { least: LEAST_RUNS, most: MOST_RUNS, open: OPEN_RUNS });
    const feeding = feeder.feed();
    for (const target of TARGETS) await monkey.killWithWorkInFlight(target);
    await monkey.untilBack();
    feeder.enough();
    const outcomes = await feeding;
    process.stdout.write(monkey.report());
    expect(monkey.counted()).toBe(TARGETS.length);
    expect(outcomes.length).toBeGreaterThanOrEqual(LEAST_RUNS);
    const { problems, figures } = await concludeChaos(platform, outcomes);
    process.stdout.write(`chaos: ${JSON.stringify(figures)}\n`);
    expect(problems).toEqual([]);
  }, 400_000);
});
