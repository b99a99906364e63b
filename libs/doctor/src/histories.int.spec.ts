import { playHistories } from './testing/histories/histories.js';

// A seed of its own each time: HISTORIES_SEED plays one again, as far as two engines at once can (who wins is theirs).
const seed = Number(process.env['HISTORIES_SEED'] ?? Date.now() % 1_000_000);
const histories = Number(process.env['HISTORIES'] ?? 100);

describe('random histories on two engines over one PostgreSQL', () => {
  it(`R2: leave what the same events leave one by one, and the doctor content (seed ${seed})`, async () => {
    const figures = await playHistories({ seed, histories });
    expect(figures.histories).toBeGreaterThanOrEqual(histories * 0.9);
    if (process.env['HISTORIES_PRINT']) process.stdout.write(`${JSON.stringify(figures, null, 1)}\n`);
  }, 300_000);
});
