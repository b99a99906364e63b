import { NonRetryableError } from '@baton/execution';
import { fakeClock, settle } from '../testing/fake-clock.js';
import { OneTryUndo } from './old/one-try-undo.js';
import { JournalWorld, untilAborted } from './testing/journal-world.js';

type Undo = (signal: AbortSignal) => unknown;

/** One run that has one step to undo. */
interface Undoing {
  start(): unknown;
  /** The process that runs the undo stops; another one goes on. */
  restart(): unknown;
  status(): Promise<string>;
}

/** W4: an undo that was interrupted is tried again by the next process, and the run ends as undone. */
async function interruptedIsNotFailed(make: (undo: Undo) => Undoing): Promise<void> {
  const calls: string[] = [];
  const run = make(async (signal) => {
    calls.push('begun');
    if (calls.length === 1) await untilAborted(signal);
    calls.push('done');
  });
  await run.start();
  await settle();
  expect(await run.status()).toBe('compensating');
  await run.restart();
  await settle();
  expect(calls).toEqual(['begun', 'begun', 'done']);
  expect(await run.status()).toBe('compensated');
}

function sagaWithUndo(undo: Undo): JournalWorld {
  return new JournalWorld({
    id: 'order',
    steps: [
      { name: 'reserve', run: () => 'reserved', compensate: ({ signal }) => undo(signal) },
      {
        name: 'charge',
        run: () => {
          throw new NonRetryableError('DECLINED');
        },
      },
    ],
  });
}

describe('W4: an undo that is interrupted', () => {
  it('W4: interrupted is not failed: the next process tries the undo again', async () => {
    await interruptedIsNotFailed(sagaWithUndo);
  });

  it('W4: a lease that is lost under an undo is no failure of it either', async () => {
    let calls = 0;
    const world = sagaWithUndo(async (signal) => {
      calls += 1;
      if (calls === 1) await untilAborted(signal);
    });
    await world.start();
    world.isHeard = false;
    await world.advance(40_000);
    expect(calls).toBe(2);
    expect(await world.status()).toBe('compensated');
    expect(await world.journal()).toContain('task.lease_lost reserve');
    expect(await world.journal()).not.toContain('step_compensation_failed reserve');
  });

  it('W4: the old behaviour fails this check', async () => {
    const old = (undo: Undo): Undoing => {
      const run = new OneTryUndo(fakeClock(), undo);
      return { start: () => run.start(), restart: () => run.restart(), status: () => Promise.resolve(run.status) };
    };
    await expect(interruptedIsNotFailed(old)).rejects.toThrow();
  });
});
