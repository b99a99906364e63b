import { keepResult } from '@baton/testkit';
import { playHistories } from './testing/histories/histories.js';

const seed = Number(process.env['HISTORIES_SEED'] ?? Date.now() % 1_000_000);
const histories = Number(process.env['HISTORIES'] ?? 2_000);

describe('2,000 random histories on two engines over one PostgreSQL', () => {
  it(`R2: leave what the same events leave one by one; the doctor looks after each hundred (seed ${seed})`, async () => {
    const figures = await playHistories({ seed, histories, groupOf: 100, progress });
    expect(figures.histories).toBeGreaterThanOrEqual(histories);
    expect(figures.doctorRounds).toBeGreaterThanOrEqual(histories / 110);
    keepResult('histories', { ...figures });
  });
});

function progress({
  histories: done,
  writes,
  durationMs,
}: {
  histories: number;
  writes: number;
  durationMs: number;
}): void {
  process.stdout.write(`${done} histories, ${writes} writes, ${Math.round(durationMs / 1_000)} s\n`);
}
