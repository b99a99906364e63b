import { keepResult } from '@baton/testkit';
import { LibraryFleet, libraryChaos } from '../src/index.js';

const PROCESSES = 8;
const ORDERS = 2_000;

/** 8 processes of the example service, 2,000 sagas, SIGKILL at random for a minute, the server ended at once twice. */
describe('sagas in eight processes that are killed at random', () => {
  let fleet: LibraryFleet;

  beforeAll(async () => {
    fleet = await LibraryFleet.start({ processes: PROCESSES, stepMs: 20, leaseMs: 3_000, readyWithinMs: 600_000 });
  }, 900_000);
  afterAll(() => fleet?.stop(), 120_000);

  it(`all ${ORDERS} end as they should, every effect stands or is undone once, and the doctor finds nothing`, async () => {
    const startedAt = performance.now();
    const seed = Date.now() % 1_000_000;
    const { problems, figures, kills, examined } = await libraryChaos(fleet, {
      seed,
      load: { orders: ORDERS, open: 200, patienceMs: 600_000 },
      kills: { forMs: 60_000, pauseMs: 1_500, serverEndsAtMs: [20_000, 40_000] },
      endWithinMs: 600_000,
    });
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    process.stdout.write(`${JSON.stringify({ seed, seconds, kills, figures, examined })}\n`);
    keepResult('soak-library', { seconds, seed, processes: PROCESSES, problems, kills, ...figures, examined });
    expect(problems).toEqual([]);
    expect(figures.runs).toBe(ORDERS);
    expect(kills.serverRestarts).toBe(2);
    // Kills that met nobody at work would show nothing.
    expect(figures.attemptsLost).toBeGreaterThan(0);
  }, 1_700_000);
});
