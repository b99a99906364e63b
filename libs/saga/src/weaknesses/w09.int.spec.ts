import { TaskError } from '@baton/execution';
import { eventually } from '@baton/testkit';
import { defineSaga } from '../definition/define-saga.js';
import { openPostgresWorld } from '../runtime/testing/postgres-world.js';
import { ends, Ledger } from '../runtime/testing/saga-suite.js';
import type { SagaWorld } from '../runtime/testing/saga-world.js';
import { OldExecutor } from './old/retries-in-memory.js';

const MAX_ATTEMPTS = 2;

/** W9: a process that dies between two tries takes no try with it. */
async function forgetsNoTry(triesAfterACrash: () => Promise<number>): Promise<void> {
  expect(await triesAfterACrash()).toBe(MAX_ATTEMPTS);
}

/** W9: with one slot, another run passes by while the first waits for its next try. */
async function waitsWithoutASlot(otherPasses: () => Promise<boolean>): Promise<void> {
  expect(await otherPasses()).toBe(true);
}

describe('W9: tries and waits in the memory of a process', () => {
  let world: SagaWorld;
  beforeAll(async () => {
    world = await openPostgresWorld();
  });
  afterEach(() => world.endProcesses());
  afterAll(() => world.close());

  const failing = (ledger: Ledger, id: string) => {
    const step = ledger.step('a', () => {
      throw new TaskError('AGAIN');
    });
    const retry = { maxAttempts: MAX_ATTEMPTS, baseInterval: 60_000, maxInterval: 60_000 };
    return defineSaga({ id, steps: [{ ...step, retry }] });
  };

  it('W9: tries are rows, so a crash forgets none', async () => {
    await forgetsNoTry(async () => {
      const ledger = new Ledger();
      const saga = failing(ledger, 'crashes');
      const first = await world.process({ sagas: [saga] });
      const runId = await first.start('crashes');
      await eventually(async () => (await first.journal(runId)).some(({ code }) => code === 'AGAIN'));
      first.kill();
      const second = await world.process({ sagas: [saga] });
      await world.passes(61_000);
      expect(await ends(second, runId)).toBe('failed');
      return ledger.calls.length;
    });
  });

  it('W9: a wait is a row, so it holds no slot', async () => {
    await waitsWithoutASlot(async () => {
      const ledger = new Ledger();
      const other = defineSaga({ id: 'other', steps: [ledger.step('b')] });
      const process = await world.process({ sagas: [failing(ledger, 'waits-long'), other], concurrency: 1 });
      await process.start('waits-long');
      await eventually(() => ledger.calls.includes('a'));
      return (await ends(process, await process.start('other'))) === 'succeeded';
    });
  });

  it('W9: the old behaviour fails this check', async () => {
    let tries = 0;
    const fails = () => {
      tries += 1;
      throw new Error('again');
    };
    const crashed = () => {
      // The first process dies while it waits: its count goes with it.
      new OldExecutor(1).begin(fails, { maxAttempts: MAX_ATTEMPTS, wait: () => new Promise(() => undefined) });
      new OldExecutor(1).begin(fails, { maxAttempts: MAX_ATTEMPTS, wait: () => Promise.resolve() });
      return eventually<number>(() => (tries > MAX_ATTEMPTS ? tries : 0));
    };
    await expect(forgetsNoTry(crashed)).rejects.toThrow();
    const full = new OldExecutor(1);
    full.begin(fails, { maxAttempts: MAX_ATTEMPTS, wait: () => new Promise(() => undefined) });
    const other = () => Promise.resolve(full.begin(() => undefined, { maxAttempts: 1, wait: () => Promise.resolve() }));
    await expect(waitsWithoutASlot(other)).rejects.toThrow();
  });
});
