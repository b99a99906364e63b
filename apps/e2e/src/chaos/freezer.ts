import { strict as assert } from 'node:assert';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually, type Platform, type ServiceProcess } from '@baton/testkit';
import type { OrderFeeder, OrderOutcome } from '../order-feeder.js';
import type { Rest } from '../rest.js';
import type { ChaosMonkey } from './chaos-monkey.js';
import { freezeLockHolder, isLockable } from './frozen-holder.js';
import { metricOf } from './gauges.js';
import { logOf } from './log-of.js';

export interface Freeze {
  readonly kind: string;
  readonly service: string;
  /** Runs that ended while it stood still. */
  readonly ended: number;
  readonly [figure: string]: unknown;
}

export interface FreezerParts {
  readonly platform: Platform;
  readonly rest: Rest;
  readonly monkey: ChaosMonkey;
  readonly feeder: OrderFeeder;
  readonly frozenMs: number;
}

/** R7: idle_in_transaction_session_timeout of the engine's sessions is 10 s; the rest is what a busy machine may add. */
const HELD_AT_MOST_MS = 30_000;
/** A freeze lasts until the others have taken over, and at least its time. */
const TAKEN_OVER_WITHIN_MS = 120_000;
/** A report that left the worker before it froze has been applied by then. */
const REPORTS_ON_THEIR_WAY_MS = 3_000;
/** When it goes on, its handlers are over time and its heartbeats are due: whichever comes first decides. */
const ZOMBIE_REPORTS_WITHIN_MS = 10_000;
const TRIES = 10;

/**
 * Lets a process stand still (SIGSTOP) while it has work in its hands, watches the others take over, lets it go on
 * (SIGCONT), and watches what it makes of having been away. Every expectation that fails throws.
 */
export class Freezer {
  /** Orders that the freezes themselves have started. */
  readonly outcomes: OrderOutcome[] = [];
  private orders = 0;

  constructor(private readonly parts: FreezerParts) {}

  /** R7: what a frozen holder has locked is free again when its session's time is over, long before it goes on. */
  async coordinator(): Promise<Freeze> {
    const { platform, rest } = this.parts;
    this.orders += 1;
    const holder = await freezeLockHolder(platform, rest, `F-${this.orders}`);
    const { service, frozenAt, runId, orderId, state, locks } = holder;
    assert.equal(await isLockable(platform, runId), false, 'the frozen coordinator holds no lock');
    const { seen: heldMs, ended } = await this.frozen(service, async () => {
      await within(() => isLockable(platform, runId), `${runId} can be locked`);
      return Math.round(performance.now() - frozenAt);
    });
    assert.ok(heldMs < HELD_AT_MOST_MS, `the lock of a frozen holder was held for ${heldMs} ms`);
    const { status, output } = await rest.ending(runId, 600_000);
    this.outcomes.push({ runId, orderId, kind: 'locked by a frozen holder', expected: 'SUCCEEDED', actual: status, output }); // prettier-ignore
    return { kind: 'coordinator', service: service.spec.name, state, locks, heldMs, ended };
  }

  /**
   * R11, R14: its attempts are taken from it while it stands still. What it still reports of them is acknowledged and
   * changes nothing; of those whose loss it hears of first, it reports nothing.
   */
  async worker(): Promise<Freeze> {
    const { service, inFlight, held } = await this.freezeLeaseHolder();
    const logFrom = logOf(service).length;
    const { ended } = await this.frozen(service, () =>
      within(async () => (await this.leasesOf(service)).length === 0, `the leases of ${service.spec.name} are ended`),
    );
    const refused = (): number => held.filter((attempt) => isRefused(logOf(service).slice(logFrom), attempt)).length;
    const deadline = performance.now() + ZOMBIE_REPORTS_WITHIN_MS;
    await within(() => refused() === held.length || performance.now() > deadline, 'reports of lost attempts');
    return { kind: 'worker', service: service.spec.name, inFlight, held: held.length, refused: refused(), ended };
  }

  /** A worker that stands still inside of handlers: what it had reported before has been applied, and leases are left. */
  private async freezeLeaseHolder(): Promise<{
    service: ServiceProcess;
    inFlight: number;
    held: readonly HeldAttempt[];
  }> {
    // prettier-ignore
    for (let tried = 1; ; tried += 1) {
      const { service, inFlight } = await this.parts.monkey.freezeWithWorkInFlight('worker', 4);
      await delay(REPORTS_ON_THEIR_WAY_MS);
      const held = await this.leasesOf(service);
      if (held.length > 0) return { service, inFlight, held };
      service.thaw();
      assert.ok(tried < TRIES, 'no worker could be frozen inside of a handler');
    }
  }

  /** I8, L5: the standby takes over; the one that goes on does not stream any more. */
  async relay(): Promise<Freeze> {
    const { service, inFlight } = await this.parts.monkey.freezeWithWorkInFlight('relay');
    const { tookOverMs, ended } = await this.handOver(service, 'relay', 'baton_outbox_streaming');
    return { kind: 'relay', service: service.spec.name, inFlight, tookOverMs, ended };
  }

  /** R22: the lease row changes hands; the one that goes on finds that it has none. */
  async timer(): Promise<Freeze> {
    const { service, inFlight } = await this.parts.monkey.freezeWithWorkInFlight('timer');
    const { tookOverMs, ended } = await this.handOver(service, 'timer', 'baton_timer_active');
    return { kind: 'timer', service: service.spec.name, inFlight, tookOverMs, ended };
  }

  private async handOver(
    service: ServiceProcess,
    kind: string,
    gauge: string,
  ): Promise<{ tookOverMs: number; ended: number }> {
    // prettier-ignore
    const standby = this.parts.platform.named(kind).find((other) => other !== service);
    assert.ok(standby, `there is no second ${kind}`);
    const frozenAt = performance.now();
    const { seen: tookOverMs, ended } = await this.frozen(service, async () => {
      await within(async () => (await metricOf(standby, gauge)) === 1, `${standby.spec.name} takes over`);
      return Math.round(performance.now() - frozenAt);
    });
    await within(async () => (await metricOf(service, gauge)) === 0, `${service.spec.name} stands by`);
    assert.equal(await metricOf(standby, gauge), 1, `${standby.spec.name} has lost its part again`);
    return { tookOverMs, ended };
  }

  /** At least its time, and until the others have brought a run to its end without it. */
  private async frozen<T>(service: ServiceProcess, watch: () => Promise<T>): Promise<{ seen: T; ended: number }> {
    const { feeder, frozenMs } = this.parts;
    const endedBefore = feeder.endedSoFar;
    const goesOn = within(() => feeder.endedSoFar > endedBefore, `runs end while ${service.spec.name} stands still`);
    try {
      const [seen] = await Promise.all([watch(), delay(frozenMs), goesOn]);
      return { seen, ended: feeder.endedSoFar - endedBefore };
    } finally {
      service.thaw();
    }
  }

  private leasesOf(service: ServiceProcess): Promise<readonly HeldAttempt[]> {
    return this.parts.platform.sql(async (client) => {
      const sql = `SELECT run_id AS "runId", node_id AS node, attempt FROM baton.task_instances
                   WHERE lease_id IS NOT NULL AND lease_owner LIKE '%' || $1 || '%'`;
      return (await client.query<HeldAttempt>(sql, [String(service.pid)])).rows;
    });
  }
}

interface HeldAttempt {
  readonly runId: string;
  readonly node: string;
  readonly attempt: number;
}

function isRefused(lines: ReturnType<typeof logOf>, { runId, node, attempt }: HeldAttempt): boolean {
  return lines
    .filter((line) => line['run_id'] === runId && line['node_id'] === node && line['attempt'] === attempt)
    .some((line) => /changed nothing/.test(String(line['msg'])));
}

async function within(check: () => boolean | Promise<boolean>, what: string): Promise<void> {
  await eventually(check, { timeoutMs: TAKEN_OVER_WITHIN_MS, intervalMs: 100, what });
}
