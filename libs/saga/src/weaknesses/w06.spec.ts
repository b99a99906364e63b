import { OldSaga } from './old/journals.js';
import { completed, failedWith, journalOf, LEASE_MS, step, undone } from './testing/journal-of.js';

interface Undoing {
  /** Runs what is to be undone; whether it can be recorded is up to the database. */
  undo(isRecordable: boolean): Promise<void>;
  status(): Promise<string>;
  /** Steps whose undo is in the log. */
  recorded(): Promise<readonly (string | null)[]>;
}

/** W6: an undo whose record failed is not done: it is run again, and only its record ends the saga. */
async function endsOnlyWithTheRecord({ undo, status, recorded }: Undoing): Promise<void> {
  await undo(false);
  expect(await status()).not.toBe('compensated');
  await undo(true);
  expect(await recorded()).toEqual(['a']);
  expect(await status()).toBe('compensated');
}

async function ours(): Promise<Undoing> {
  const run = () => null;
  const world = await journalOf({
    id: 'undo',
    steps: [
      { name: 'a', run, compensate: run },
      { name: 'b', run },
    ],
  });
  const { journal, report, begin, passes, refuseWrites } = world;
  const a = await begin();
  let undoing = step(await report(step(await report(a, completed)), failedWith('NO', false)));
  return {
    async undo(isRecordable) {
      refuseWrites(!isRecordable);
      await report(undoing, undone).catch(() => undefined);
      refuseWrites(false);
      if (isRecordable) return;
      await passes(LEASE_MS + 1);
      undoing = step((await journal.claimPending({ limit: 1, leaseMs: LEASE_MS }))[0] ?? null);
    },
    status: () => world.status(a.runId),
    recorded: async () =>
      (await journal.load(a.runId)).filter(({ kind }) => kind === 'step_compensated').map((entry) => entry.step),
  };
}

describe('W6: the failed record of an undo', () => {
  it('W6: is not success: the undo is run again, and only its record ends the saga', async () => {
    await endsOnlyWithTheRecord(await ours());
  });

  it('W6: the old behaviour fails this check', async () => {
    let canRecord = true;
    const old = new OldSaga(() => {
      if (!canRecord) throw new Error('the database takes no writes');
    });
    const undoing: Undoing = {
      undo: (isRecordable) => {
        canRecord = isRecordable;
        old.run([
          { name: 'a', tries: ['ok'] },
          { name: 'b', tries: ['NO'] },
        ]);
        return Promise.resolve();
      },
      status: () => Promise.resolve(old.status),
      recorded: () =>
        Promise.resolve(old.log.filter(({ kind }) => kind === 'step_compensated').map((entry) => entry.step)),
    };
    await expect(endsOnlyWithTheRecord(undoing)).rejects.toThrow();
    expect([old.status, await undoing.recorded()]).toEqual(['compensated', []]);
  });
});
