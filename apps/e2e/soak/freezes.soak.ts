import { keepResult, type Platform } from '@baton/testkit';
import {
  ChaosMonkey,
  concludeChaos,
  type Freeze,
  Freezer,
  OrderFeeder,
  type Rest,
  startOrderPlatform,
} from '../src/index.js';

const FROZEN_MS = 20_000;
const OPEN_RUNS = 40;
const LEAST_RUNS = 200;
const MOST_RUNS = 20_000;
const ROUNDS = 2;

/**
 * Each kind of process stands still for 20 s (SIGSTOP) while it has work in its hands, and goes on (SIGCONT) after others
 * have taken over: a coordinator that holds locks (R7), a worker whose leases run out (R14, R18), the relay (I8), the
 * timer service (R22).
 */
describe('order runs while processes stand still and go on', () => {
  let platform: Platform;
  let rest: Rest;

  beforeAll(async () => {
    ({ platform, rest } = await startOrderPlatform({ stepMs: 1000, readyWithinMs: 600_000 }));
  }, 900_000);

  afterAll(async () => {
    await platform?.stop();
  }, 120_000);

  it(`every run ends as it should after ${ROUNDS} freezes of each kind for ${FROZEN_MS / 1000} s`, async () => {
    const startedAt = performance.now();
    const feeder = new OrderFeeder(rest, { least: LEAST_RUNS, most: MOST_RUNS, open: OPEN_RUNS, patienceMs: 600_000 });
    const monkey = new ChaosMonkey(platform);
    const freezer = new Freezer({ platform, rest, monkey, feeder, frozenMs: FROZEN_MS });
    const feeding = feeder.feed();
    feeding.catch(() => undefined); // Told below, after the freezes.
    const freezes: Freeze[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const kind of ['coordinator', 'worker', 'relay', 'timer'] as const) {
        freezes.push(await freezer[kind]());
        process.stdout.write(`chaos: ${JSON.stringify(freezes.at(-1))}\n`);
      }
    }
    feeder.enough();
    const outcomes = [...(await feeding), ...freezer.outcomes];
    const { problems, figures, examined } = await concludeChaos(platform, outcomes);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    process.stdout.write(`${JSON.stringify({ seconds, ...figures })}\n`);
    keepResult('soak-freezes', { seconds, problems, freezes, ...figures, examined });
    expect(problems).toEqual([]);
    expect(outcomes.length).toBeGreaterThanOrEqual(LEAST_RUNS);
  }, 1_500_000);
});
