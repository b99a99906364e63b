import { runtimeFixture, succeeded } from '../runtime/testing/runtime-fixture.js';
import { fakeClock } from '../testing/fake-clock.js';
import { OldCoordinator } from './old/instance-leases.js';

const LEASE_MS = 30_000;
const POLL_MS = 200;

interface Driven {
  /** Steps that ran, in order. */
  readonly ran: readonly string[];
  readonly advance: (ms: number) => Promise<void>;
}

/** W1: three steps that take no time are over long before the first lease is. */
async function runsWithinOneLease({ ran, advance }: Driven): Promise<void> {
  await advance(LEASE_MS / 10);
  expect(ran).toEqual(['a', 'b', 'c']);
}

async function ours(): Promise<Driven> {
  const { runtime, journal, runner, clock } = runtimeFixture({ config: { pollIntervalMs: POLL_MS } });
  runner.result = succeeded;
  journal.add('a', 'b', 'c');
  await runtime.start();
  return { ran: runner.ran, advance: (ms) => clock.advance(ms) };
}

describe('W1: a lease that is kept between steps', () => {
  it('W1: the commit of one step hands the next to the same driver', async () => {
    await runsWithinOneLease(await ours());
  });

  it('W1: the old behaviour fails this check', async () => {
    const clock = fakeClock();
    const ran: string[] = [];
    const old = new OldCoordinator({ clock, leaseMs: LEASE_MS, pollMs: POLL_MS, run: (step) => ran.push(step) });
    old.add('run-1', 'a', 'b', 'c');
    old.start();
    await expect(runsWithinOneLease({ ran, advance: (ms) => clock.advance(ms) })).rejects.toThrow();
    expect(ran).toEqual(['a']);
  });
});
