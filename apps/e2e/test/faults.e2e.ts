import type { Platform } from '@baton/testkit';
import { auditOrders, ChaosMonkey, Freezer, letHappen, OrderFeeder, type Rest, SERVER_FAULTS, startOrderPlatform, untilWorkersRest } from '../src/index.js'; // prettier-ignore

const OPEN_RUNS = 30;
const LIMITS = { inFlight: 25, endAfterwards: 15 };
/** Longer than a lease of the example (10 s) and than a frozen session may hold its locks (10 s). */
const FROZEN_MS = 13_000;

/** The short form of soak/servers and soak/freezes: one of each fault. */
describe('order runs while servers end and processes stand still', () => {
  let platform: Platform;
  let rest: Rest;

  beforeAll(async () => {
    ({ platform, rest } = await startOrderPlatform({ stepMs: 500 }));
  }, 240_000);

  afterAll(async () => {
    await platform?.stop();
  }, 60_000);

  it('every run ends as it should, and the ledger agrees', async () => {
    const feeder = new OrderFeeder(rest, { least: 60, most: 5_000, open: OPEN_RUNS, patienceMs: 300_000 });
    const monkey = new ChaosMonkey(platform);
    const freezer = new Freezer({ platform, rest, monkey, feeder, frozenMs: FROZEN_MS });
    const feeding = feeder.feed();
    feeding.catch(() => undefined); // Told below, after the faults.
    for (const fault of SERVER_FAULTS.slice(0, 2)) {
      process.stdout.write(`chaos: ${JSON.stringify(await letHappen(fault, platform, feeder, LIMITS))}\n`);
    }
    for (const kind of ['coordinator', 'worker'] as const) {
      process.stdout.write(`chaos: ${JSON.stringify(await freezer[kind]())}\n`);
    }
    feeder.enough();
    const outcomes = [...(await feeding), ...freezer.outcomes];
    await untilWorkersRest(platform);
    const { problems, figures } = await auditOrders(platform, outcomes);
    process.stdout.write(`chaos: ${JSON.stringify(figures)}\n`);
    expect(problems).toEqual([]);
  }, 600_000);
});
