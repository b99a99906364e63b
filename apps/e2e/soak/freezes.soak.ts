import { setTimeout as delay } from 'node:timers/promises';
import { eventually, keepResult, Platform, type ServiceProcess } from '@baton/testkit';
import {
  ChaosMonkey,
  concludeChaos,
  freezeLockHolder,
  isLockable,
  logOf,
  metricOf,
  OrderFeeder,
  Rest,
  type OrderOutcome,
} from '../src/index.js';

const FROZEN_MS = 20_000;
const OPEN_RUNS = 40;
const LEAST_RUNS = 200;
const MOST_RUNS = 20_000;
const ROUNDS = 2;
/** R7: idle_in_transaction_session_timeout of the engine's sessions, and what a busy machine may add. */
const HELD_AT_MOST_MS = 16_000;
/** A report that left the worker before it froze has been applied by then. */
const REPORTS_ON_THEIR_WAY_MS = 3_000;

/**
 * Each kind of process stands still for 20 s (SIGSTOP) while it has work in its hands, and goes on (SIGCONT) after others
 * have taken over: a coordinator that holds locks, a worker whose leases run out, the relay, the timer service.
 */
describe('order runs while processes stand still and go on', () => {
  let platform: Platform;
  let rest: Rest;
  let monkey: ChaosMonkey;
  let feeder: OrderFeeder;
  const extra: OrderOutcome[] = [];

  beforeAll(async () => {
    platform = await Platform.start({
      coordinators: 2,
      relays: 2,
      timerServices: 2,
      workers: 3,
      ledger: 'own-server',
      logLevel: 'debug',
      workerEnv: { BATON_STEP_MS: '150' },
    });
    rest = new Rest(platform.gatewayUrl);
    monkey = new ChaosMonkey(platform);
    feeder = new OrderFeeder(rest, { least: LEAST_RUNS, most: MOST_RUNS, open: OPEN_RUNS, patienceMs: 600_000 });
    await rest.publishExample();
  }, 300_000);

  afterAll(async () => {
    for (const service of platform?.services.values() ?? []) if (service.running) service.thaw();
    await platform?.stop();
  }, 120_000);

  it(`every run ends as it should after ${ROUNDS} freezes of each kind for ${FROZEN_MS / 1000} s`, async () => {
    const startedAt = performance.now();
    const feeding = feeder.feed();
    feeding.catch(() => undefined); // Told below, after the freezes.
    const freezes: Record<string, unknown>[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      for (const freeze of [freezeCoordinator, freezeWorker, freezeRelay, freezeTimer]) {
        const freezing = await freeze(round);
        process.stdout.write(`chaos: ${JSON.stringify(freezing)}\n`);
        freezes.push(freezing);
      }
    }
    feeder.enough();
    const outcomes = [...(await feeding), ...extra];
    const { problems, figures, examined } = await concludeChaos(platform, outcomes);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    process.stdout.write(`${JSON.stringify({ seconds, ...figures })}\n`);
    keepResult('soak-freezes', { seconds, problems, freezes, ...figures, examined });
    expect(problems).toEqual([]);
    expect(outcomes.length).toBeGreaterThanOrEqual(LEAST_RUNS);
  }, 1_500_000);

  /** Stands still for its time; answers how many runs ended meanwhile, and what else was seen. */
  async function frozen<T>(service: ServiceProcess, watch: () => Promise<T>): Promise<{ seen: T; ended: number }> {
    const endedBefore = feeder.endedSoFar;
    const [seen] = await Promise.all([watch(), delay(FROZEN_MS)]);
    const ended = feeder.endedSoFar - endedBefore;
    service.thaw();
    return { seen, ended };
  }

  /** R7: what a frozen holder has locked is free again when its session's time is over, long before it goes on. */
  async function freezeCoordinator(round: number): Promise<Record<string, unknown>> {
    const frozenAt = performance.now();
    const holder = await freezeLockHolder(platform, rest, `F-${round}`);
    const { service, runId, orderId, state, locks } = holder;
    expect(await isLockable(platform, runId)).toBe(false);
    const { seen: heldMs, ended } = await frozen(service, async () => {
      await eventually(() => isLockable(platform, runId), { timeoutMs: FROZEN_MS, what: `${runId} can be locked` });
      return Math.round(performance.now() - frozenAt);
    });
    expect(heldMs).toBeLessThan(HELD_AT_MOST_MS);
    expect(ended).toBeGreaterThan(0);
    const { status, output } = await rest.ending(runId, 600_000);
    extra.push({ runId, orderId, kind: 'locked by a frozen holder', expected: 'SUCCEEDED', actual: status, output });
    return { kind: 'coordinator', service: service.spec.name, state, locks, heldMs, ended };
  }

  /** R14: what a zombie reports of attempts that were taken from it is acknowledged and changes nothing. */
  async function freezeWorker(): Promise<Record<string, unknown>> {
    const { service, inFlight } = await monkey.freezeWithWorkInFlight('worker', 4);
    const logFrom = logOf(service).length;
    const { seen: held, ended } = await frozen(service, async () => {
      await delay(REPORTS_ON_THEIR_WAY_MS);
      return attemptsOf(service);
    });
    expect(held.length).toBeGreaterThan(0);
    expect(ended).toBeGreaterThan(0);
    const isRefused = ({ runId, node, attempt }: HeldAttempt): boolean =>
      logOf(service)
        .slice(logFrom)
        .some(
          (line) =>
            line['run_id'] === runId &&
            line['node_id'] === node &&
            line['attempt'] === attempt &&
            /changed nothing/.test(String(line['msg'])),
        );
    await eventually(() => held.every(isRefused), {
      timeoutMs: 60_000,
      intervalMs: 500,
      what: `what ${service.spec.name} reports of ${JSON.stringify(held)} is refused`,
    });
    return { kind: 'worker', service: service.spec.name, inFlight, refused: held.length, ended };
  }

  /** I8, L5: the standby takes over; the one that goes on does not stream any more, and sends nothing. */
  async function freezeRelay(): Promise<Record<string, unknown>> {
    const { service, inFlight } = await monkey.freezeWithWorkInFlight('relay');
    const standby = platform.named('relay').find((relay) => relay !== service);
    if (standby === undefined) throw new Error('there is one relay only');
    const { seen: tookOverMs, ended } = await frozen(service, () => untilStreaming(standby));
    expect(ended).toBeGreaterThan(0);
    await eventually(async () => (await metricOf(service, 'baton_outbox_streaming')) === 0, {
      timeoutMs: 30_000,
      what: `${service.spec.name} stands by`,
    });
    const sessionsLost = await metricOf(service, 'baton_outbox_sessions_total');
    return { kind: 'relay', service: service.spec.name, inFlight, tookOverMs, ended, sessionsLost };
  }

  /** R22: the lease row changes hands; the one that goes on finds that it has none. */
  async function freezeTimer(): Promise<Record<string, unknown>> {
    const { service, inFlight } = await monkey.freezeWithWorkInFlight('timer');
    const standby = platform.named('timer').find((timer) => timer !== service);
    if (standby === undefined) throw new Error('there is one timer service only');
    const frozenAt = performance.now();
    const { seen: tookOverMs, ended } = await frozen(service, async () => {
      await eventually(async () => (await metricOf(standby, 'baton_timer_active')) === 1, {
        timeoutMs: FROZEN_MS,
        what: `${standby.spec.name} is active`,
      });
      return Math.round(performance.now() - frozenAt);
    });
    expect(ended).toBeGreaterThan(0);
    await eventually(async () => (await metricOf(service, 'baton_timer_active')) === 0, {
      timeoutMs: 30_000,
      what: `${service.spec.name} stands by`,
    });
    expect(await metricOf(standby, 'baton_timer_active')).toBe(1);
    return { kind: 'timer', service: service.spec.name, inFlight, tookOverMs, ended };
  }

  async function untilStreaming(relay: ServiceProcess): Promise<number> {
    const from = performance.now();
    await eventually(async () => (await metricOf(relay, 'baton_outbox_streaming')) === 1, {
      timeoutMs: FROZEN_MS,
      what: `${relay.spec.name} streams`,
    });
    return Math.round(performance.now() - from);
  }

  function attemptsOf(service: ServiceProcess): Promise<readonly HeldAttempt[]> {
    return platform.sql(async (client) => {
      const sql = `SELECT run_id AS "runId", node_id AS node, attempt FROM baton.task_instances
                   WHERE lease_id IS NOT NULL AND lease_owner LIKE '%' || $1 || '%'`;
      return (await client.query<HeldAttempt>(sql, [String(service.pid)])).rows;
    });
  }
});

interface HeldAttempt {
  readonly runId: string;
  readonly node: string;
  readonly attempt: number;
}
