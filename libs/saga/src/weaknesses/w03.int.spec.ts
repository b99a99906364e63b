import { eventually } from '@baton/testkit';
import { defineSaga } from '../definition/define-saga.js';
import { openPostgresWorld } from '../runtime/testing/postgres-world.js';
import { ends, Ledger } from '../runtime/testing/saga-suite.js';
import type { SagaWorld } from '../runtime/testing/saga-world.js';
import { oldRunWithTimeouts } from './old/expires-at-once.js';

/** W3: what was done before the time was over is undone, whether the time was the step's or the run's. */
async function undoesWhatWasDone(run: () => Promise<readonly string[]>): Promise<void> {
  const calls = await run();
  expect(calls.slice(0, 2)).toEqual(['paid', 'slow']);
  expect(calls).toContain('undo paid');
}

describe('W3: an expiry that leaves everything in place', () => {
  let world: SagaWorld;
  beforeAll(async () => {
    world = await openPostgresWorld();
  });
  afterEach(() => world.endProcesses());
  afterAll(() => world.close());

  it('W3: the timeout of a step undoes what was done', async () => {
    await undoesWhatWasDone(async () => {
      const ledger = new Ledger();
      const slow = ledger.step('slow', () => ledger.hold('never'), { timeout: 50 });
      const saga = defineSaga({ id: 'late-step', steps: [ledger.undoable('paid'), slow] });
      const process = await world.process({ sagas: [saga] });
      expect(await ends(process, await process.start('late-step'))).toBe('compensated');
      return ledger.calls;
    });
  });

  it('W3: the time of a run undoes what was done, with a time of its own', async () => {
    await undoesWhatWasDone(async () => {
      const ledger = new Ledger();
      const steps = [ledger.undoable('paid'), ledger.step('slow', () => ledger.hold('slow'))];
      const saga = defineSaga({ id: 'late-run', timeout: 60_000, compensationTimeout: 600_000, steps });
      const process = await world.process({ sagas: [saga], config: { leaseDurationMs: 600_000 } });
      const runId = await process.start('late-run');
      await eventually(() => ledger.calls.includes('slow'));
      await world.passes(61_000);
      await eventually(async () => (await process.status(runId)) !== 'running', { what: 'the deadline to pass' });
      ledger.open('slow');
      expect(await ends(process, runId)).toBe('expired');
      return ledger.calls;
    });
  });

  it('W3: the old behaviour fails this check', async () => {
    const calls: string[] = [];
    const old = () => {
      const steps = [
        { name: 'paid', isLate: false, undo: () => calls.push('undo paid') },
        { name: 'slow', isLate: true, undo: null },
      ];
      expect(oldRunWithTimeouts(steps, (step) => calls.push(step))).toBe('expired');
      return Promise.resolve(calls);
    };
    await expect(undoesWhatWasDone(old)).rejects.toThrow();
  });
});
