import { keepResult } from '@baton/testkit';
import { playHistories, type Figures } from './testing/histories/histories.js';

const seed = Number(process.env['HISTORIES_SEED'] ?? Date.now() % 1_000_000);
const asked = Number(process.env['HISTORIES'] ?? 2_000);
const longest = Number(process.env['HISTORIES_LONGEST'] ?? 30);

describe('2,000 random histories on two engines over one PostgreSQL', () => {
  it(`R2: leave what the same events leave one by one; the doctor looks after each hundred (seed ${seed})`, async () => {
    const figures = await playHistories({ seed, histories: asked, longest, groupOf: 100, progress });
    expect(figures.histories).toBeGreaterThanOrEqual(asked);
    expect(figures.doctorRounds).toBeGreaterThanOrEqual(asked / 110);
  });
});

/** Kept after each hundred: a run that is stopped has its figures too, and `asked` tells that it was. */
function progress(figures: Figures): void {
  const { histories, writes, durationMs } = figures;
  process.stdout.write(`${histories} histories, ${writes} writes, ${Math.round(durationMs / 1_000)} s\n`);
  keepResult('histories', { asked, longest, ...figures });
}
