import type { Locker } from '../leader/locker.js';
import type { LeaderGate } from '../runtime/parts.js';
import { runtimeFixture, succeeded } from '../runtime/testing/runtime-fixture.js';
import { fakeClock } from '../testing/fake-clock.js';
import { OldCoordinator } from './old/instance-leases.js';

const LEASE_MS = 30_000;
const POLL_MS = 200;

/** Another process holds the lock of the run until it lets go. */
class ForeignLock implements Locker {
  isHeld = true;

  acquire(): ReturnType<Locker['acquire']> {
    if (this.isHeld) return Promise.resolve(null);
    const lock = {
      ended: new AbortController().signal,
      end: null,
      release: () => Promise.resolve(),
      orphan: () => undefined,
    };
    return Promise.resolve(lock);
  }
}

interface Contended {
  readonly lock: ForeignLock;
  readonly ran: readonly string[];
  readonly advance: (ms: number) => Promise<void>;
}

/** W2: a run that was skipped because of its lock is driven soon after the lock is free, not a lease later. */
async function isDrivenOnceTheLockIsFree({ lock, ran, advance }: Contended): Promise<void> {
  await advance(POLL_MS * 3);
  expect(ran).toEqual([]);
  lock.isHeld = false;
  await advance(POLL_MS * 2);
  expect(ran).toEqual(['a']);
}

function gateOn(lock: Locker): LeaderGate {
  return { mode: 'leader_elect', acquireLead: () => lock.acquire('run', LEASE_MS) };
}

describe('W2: a lease that lies under a skipped lock', () => {
  it('W2: the lock comes before the lease, so a skipped run stays claimable', async () => {
    const lock = new ForeignLock();
    const { runtime, journal, runner, clock } = runtimeFixture({
      config: { pollIntervalMs: POLL_MS },
      gate: gateOn(lock),
    });
    runner.result = succeeded;
    journal.add('a');
    await runtime.start();
    await isDrivenOnceTheLockIsFree({ lock, ran: runner.ran, advance: (ms) => clock.advance(ms) });
  });

  it('W2: the old behaviour fails this check', async () => {
    const lock = new ForeignLock();
    const clock = fakeClock();
    const ran: string[] = [];
    const run = (step: string) => void ran.push(step);
    const old = new OldCoordinator({ clock, leaseMs: LEASE_MS, pollMs: POLL_MS, run, locker: lock });
    old.add('run-1', 'a');
    old.start();
    await expect(isDrivenOnceTheLockIsFree({ lock, ran, advance: (ms) => clock.advance(ms) })).rejects.toThrow();
    await clock.advance(LEASE_MS + POLL_MS);
    expect(ran).toEqual(['a']);
  });
});
