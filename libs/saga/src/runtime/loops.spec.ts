import type { DueItem, FireResult } from '@baton/engine';
import { fakeClock, settle } from '../testing/fake-clock.js';
import { DueLoop } from './due-loop.js';
import { Loop } from './loop.js';
import { LogBook } from './testing/runtime-fixture.js';
import { UpkeepLoop } from './upkeep-loop.js';

const item: DueItem = { kind: 'task', namespace: 'default', runId: 'run', taskId: 'task', attempt: 1 };

function dueLoop() {
  const clock = fakeClock();
  const logger = new LogBook();
  const fired: number[] = [];
  const state = {
    isActive: true,
    items: [] as DueItem[],
    nextDueInMs: null as number | null,
    outcome: 'APPLIED' as FireResult['outcome'],
    reads: 0,
    kicks: 0,
  };
  const role = { hold: () => Promise.resolve(state.isActive), isActive: true, release: () => Promise.resolve() };
  const due = {
    readDue: () => {
      state.reads += 1;
      return Promise.resolve({ items: state.items.splice(0), nextDueInMs: state.nextDueInMs });
    },
    fireDue: (items: readonly DueItem[]) => {
      fired.push(items.length);
      return Promise.resolve(items.map(() => ({ outcome: state.outcome })));
    },
  };
  const loop = new DueLoop({ due, role, logger, clock, onFired: () => (state.kicks += 1) });
  return { loop, clock, logger, fired, state };
}

describe('the loop of due rows', () => {
  it('fires what is due, tells that steps may have become claimable, and sleeps until the next instant', async () => {
    const { loop, clock, fired, state } = dueLoop();
    state.items.push(item, item);
    state.nextDueInMs = 40;
    loop.start();
    await settle();
    expect([fired, state.kicks]).toEqual([[2], 1]);
    const reads = state.reads;
    await clock.advance(39);
    expect(state.reads).toBe(reads);
    await clock.advance(1);
    expect(state.reads).toBe(reads + 1);
    await loop.stop();
  });

  it('sees a nearer row within half a second, and at once when it is woken', async () => {
    const { loop, clock, state } = dueLoop();
    state.nextDueInMs = 3_600_000;
    loop.start();
    await settle();
    await clock.advance(500);
    expect(state.reads).toBe(2);
    loop.wake();
    await settle();
    expect(state.reads).toBe(3);
    await loop.stop();
  });

  it('R22: one process is enough: without the role it reads nothing, and asks for the role again', async () => {
    const { loop, clock, state } = dueLoop();
    state.isActive = false;
    loop.start();
    await clock.advance(5_000);
    expect(state.reads).toBe(0);
    state.isActive = true;
    await clock.advance(500);
    expect(state.reads).toBe(1);
    await loop.stop();
  });

  it('R21: rows that cannot be handled now are told, and come again after a pause', async () => {
    const { loop, clock, logger, fired, state } = dueLoop();
    state.items.push(item);
    state.outcome = 'FAILED';
    loop.start();
    await settle();
    expect(logger.of('warn')).toEqual(['due rows not handled']);
    expect(state.kicks).toBe(0);
    state.items.push(item);
    await clock.advance(99);
    expect(fired).toHaveLength(1);
    await clock.advance(1);
    expect(fired).toHaveLength(2);
    await loop.stop();
  });
});

describe('the upkeep', () => {
  it('R24, R25: makes partitions and purges keys until none is left, as long as it has the role', async () => {
    const clock = fakeClock();
    const calls: string[] = [];
    const left = [1_000, 1_000, 7];
    const role = { hold: () => Promise.resolve(true), isActive: false, release: () => Promise.resolve() };
    const upkeep = {
      ensurePartitions: () => Promise.resolve(void calls.push('partitions')),
      purgeKeys: () => Promise.resolve(left[calls.push('keys') - 2] ?? 0),
    };
    const loop = new UpkeepLoop({ role, upkeep, logger: new LogBook(), clock });
    loop.start();
    await clock.advance(900);
    expect(calls).toEqual([]);
    role.isActive = true;
    await clock.advance(100);
    expect(calls).toEqual(['partitions', 'keys', 'keys', 'keys']);
    await clock.advance(6 * 3_600_000);
    expect(calls.slice(4)).toEqual(['partitions', 'keys']);
    await loop.stop();
  });
});

describe('a loop', () => {
  class Failing extends Loop {
    turns = 0;
    fails = true;

    onTurn: () => unknown = () => undefined;

    protected runOnce(): Promise<number> {
      this.turns += 1;
      this.onTurn();
      return this.fails ? Promise.reject(new Error('away')) : Promise.resolve(1_000);
    }
  }

  it('backs off after errors, logs each, and never ends by one', async () => {
    const clock = fakeClock();
    const logger = new LogBook();
    const loop = new Failing({ name: 'test', clock, logger, errorBackoffMs: [100, 400] });
    loop.start();
    loop.start();
    await settle();
    expect(loop.turns).toBe(1);
    await clock.advance(100 + 200 + 400 + 400);
    expect(loop.turns).toBe(5);
    expect(logger.lines.map(({ retry_in_ms: ms }) => ms)).toEqual([100, 200, 400, 400, 400]);
    loop.fails = false;
    await clock.advance(400);
    await loop.stop();
    await loop.stop();
    await clock.advance(10_000);
    expect([loop.turns, clock.pending]).toEqual([6, 0]);
  });

  it('that is woken in the middle of a turn takes the next one at once', async () => {
    const clock = fakeClock();
    const loop = new Failing({ name: 'test', clock, logger: new LogBook(), errorBackoffMs: [100, 400] });
    loop.fails = false;
    loop.onTurn = () => loop.turns === 1 && loop.wake();
    loop.start();
    await settle();
    expect(loop.turns).toBe(2);
    await loop.stop();
  });
});
