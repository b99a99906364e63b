import { LibraryFleet, libraryChaos } from '../src/index.js';

/**
 * The short form of library.soak.ts: three processes of the example service, killed at random while 200 sagas run, and
 * the end of their server in between.
 */
describe('sagas in three processes that are killed at random', () => {
  let fleet: LibraryFleet;

  beforeAll(async () => {
    fleet = await LibraryFleet.start({ processes: 3, stepMs: 50, leaseMs: 2_000 });
  }, 240_000);
  afterAll(() => fleet?.stop(), 60_000);

  it('all 200 end as they should, every effect stands or is undone once, and the doctor finds nothing', async () => {
    const seed = Date.now() % 1_000_000;
    const { problems, figures, kills } = await libraryChaos(fleet, {
      seed,
      load: { orders: 200, open: 24 },
      kills: { forMs: 20_000, pauseMs: 1_200, serverEndsAtMs: [8_000] },
      endWithinMs: 120_000,
    });
    process.stdout.write(`library chaos: ${JSON.stringify({ seed, kills, figures })}\n`);
    expect(problems).toEqual([]);
    expect(figures.runs).toBe(200);
    expect(kills.serverRestarts).toBe(1);
    // Kills that met nobody at work would show nothing.
    expect(figures.attemptsLost).toBeGreaterThan(0);
  }, 300_000);
});
