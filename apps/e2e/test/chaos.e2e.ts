import { Platform } from '@baton/testkit';
import { auditOrders, ChaosMonkey, demoRuns, Rest } from '../src/index.js';

const RUNS = 100;
const KILLS_OF_EACH = 1;

/**
 * 100 order runs while every kind of process is killed with SIGKILL and started again. A kill counts only if the
 * process had events in flight at that moment. Afterwards Baton is compared with what the workers wrote into a ledger
 * of their own, never with itself.
 */
describe('order runs while processes are killed', () => {
  let platform: Platform;
  let rest: Rest;

  beforeAll(async () => {
    platform = await Platform.start({
      coordinators: 2,
      relays: 2,
      timerServices: 2,
      workers: 3,
      ledger: true,
      workerEnv: { BATON_STEP_MS: '150' },
    });
    rest = new Rest(platform.gatewayUrl);
    await rest.publishExample();
  }, 240_000);

  afterAll(async () => {
    await platform?.stop();
  }, 60_000);

  it(`every one of ${RUNS} runs ends as it should, and the ledger agrees`, async () => {
    const inputs = demoRuns();
    const expected = new Map<string, string>();
    const monkey = new ChaosMonkey(platform);
    const starting = (async () => {
      for (let index = 0; index < RUNS; index += 1) {
        const demo = inputs[index % inputs.length];
        if (demo === undefined) throw new Error('the example has no demo runs');
        const runId = await rest.startOrder({ ...demo.input, orderId: `C-${index}` });
        expected.set(runId, demo.expected);
      }
    })();
    const targets = ['coordinator-1', 'relay', 'worker-1', 'timer', 'coordinator-2', 'worker-2'];
    for (let round = 0; round < KILLS_OF_EACH; round += 1) {
      for (const target of targets) await monkey.killWithWorkInFlight(target);
    }
    await starting;

    const outcomes = await Promise.all(
      [...expected].map(async ([runId, status]) => ({ runId, status, actual: await rest.outcome(runId, 120_000) })),
    );
    process.stdout.write(monkey.report());
    expect(monkey.counted()).toBeGreaterThanOrEqual(targets.length * KILLS_OF_EACH);
    expect(outcomes.filter((outcome) => outcome.actual !== outcome.status)).toEqual([]);
    expect(await auditOrders(platform, [...expected.keys()])).toEqual([]);
  }, 300_000);
});
