import type { RunWrite, Store } from '@baton/engine';
import { playHistories } from './testing/histories/histories.js';

// A seed of its own each time: HISTORIES_SEED plays one again, as far as two engines at once can (who wins is theirs).
const seed = Number(process.env['HISTORIES_SEED'] ?? Date.now() % 1_000_000);
const histories = Number(process.env['HISTORIES'] ?? 100);
const longest = Number(process.env['HISTORIES_LONGEST'] ?? 25);

describe('random histories on two engines over one PostgreSQL', () => {
  it(
    `R2: leave what the same events leave one by one, and the doctor content (seed ${seed})`,
    async () => {
      const figures = await playHistories({ seed, histories, longest });
      expect(figures.histories).toBeGreaterThanOrEqual(histories);
      expect(figures.folded).toBeGreaterThan(0);
      expect(figures.doctorRounds).toBeGreaterThan(0);
      if (process.env['HISTORIES_PRINT'] === '1') process.stdout.write(`${JSON.stringify(figures, null, 1)}\n`);
    },
    histories * 3_000,
  );

  // What would be lost silently: each must show, in one of the judges.
  it.each([
    ['the doctor, when a message is lost', /the doctor is not content/, (write: RunWrite) => withoutLastMessage(write)],
    [
      'the twin, when a deadline moves',
      /only in batches: +task_instances/,
      (write: RunWrite) => withLateRedispatch(write),
    ],
    ['the twin, when an output is lost', /only in batches/, (write: RunWrite) => withoutOutputs(write)],
  ])(
    'fails by %s',
    async (_judge, message, change) => {
      const spoil = (store: Store): Store => ({
        ...store,
        write: (batch) => store.write({ ...batch, runs: batch.runs.map(change) }),
      });
      await expect(playHistories({ seed: 7, histories: 10, spoil })).rejects.toThrow(message);
    },
    120_000,
  );
});

function withoutLastMessage(write: RunWrite): RunWrite {
  return { ...write, outbox: write.outbox.slice(0, -1) };
}

function withLateRedispatch(write: RunWrite): RunWrite {
  const tasks = write.tasks.map((task) => {
    const { wake } = task;
    if (wake.kind !== 'dispatch') return task;
    const deadlines = { ...wake.deadlines, redispatchAfterMs: wake.deadlines.redispatchAfterMs + 1 };
    return { ...task, wake: { ...wake, deadlines } };
  });
  return { ...write, tasks };
}

function withoutOutputs(write: RunWrite): RunWrite {
  return { ...write, tasks: write.tasks.map(({ output: _output, ...task }) => task) };
}
