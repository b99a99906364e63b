import { bytesPerRun, heapMetrics, libraryMetrics, ratioOfRounds, type SideSamples } from './library-figures.js';
import { drive, median, quantile } from './stats.js';

const side = (rates: readonly number[], singles: readonly number[], commitsPerRun = 4): SideSamples => ({
  rates,
  singles,
  commitsPerRun,
});

describe('the figures of the library bench', () => {
  it('take the ratio round by round, so that a slow moment of the machine hits both sides of it', () => {
    expect(ratioOfRounds([800, 80, 820], [100, 10, 100])).toBe(8);
    expect(ratioOfRounds([800], [])).toBeNaN();
  });

  it('hold both ratios against their goals, and give the absolute figures of each side', () => {
    const sides = new Map([
      ['saga', side([900, 800, 850], [2, 3, 10])],
      ['dbos', side([100, 100, 100], [10, 9, 40], 5)],
    ]);
    const metrics = libraryMetrics(sides);
    expect(metrics.slice(0, 2)).toEqual([
      { name: 'runs_per_second_vs_dbos_ratio', value: 8.5, unit: 'x', goal: '>= 8', met: true },
      { name: 'p50_vs_dbos_ratio', value: 0.3, unit: 'x', goal: '<= 0.4', met: true },
    ]);
    const values = new Map(metrics.map(({ name, value }) => [name, value]));
    expect(values.get('saga_runs_per_second')).toBe(850);
    expect(values.get('saga_p99_ms')).toBe(10);
    expect(values.get('dbos_commits_per_run')).toBe(5);
    expect(libraryMetrics(new Map(sides).set('saga', side([790], [4.1]))).slice(0, 2)).toMatchObject([
      { met: false },
      { met: false },
    ]);
  });

  it('find what stays for each run by the slope of the samples, whatever the heap was before', () => {
    const samples = [0, 10, 20, 30].map((runs) => ({ runs, bytes: 5_000 + 7 * runs }));
    expect(bytesPerRun(samples)).toBeCloseTo(7);
    const sawtooth = [0, 10, 20, 30, 40].map((runs, index) => ({ runs, bytes: index % 2 === 0 ? 5_000 : 5_100 }));
    expect(bytesPerRun(sawtooth)).toBeCloseTo(0);
    expect(heapMetrics([0, 1_000].map((runs) => ({ runs, bytes: 100 * runs })))[0]).toMatchObject({
      value: 100,
      met: false,
    });
  });
});

describe('statistics', () => {
  it('give quantiles of unsorted samples, and nothing of none', () => {
    expect([quantile([3, 1, 2, 4], 0.99), median([5, 1, 3]), median([])]).toEqual([4, 3, Number.NaN]);
  });

  it('drive every item once, with no more in flight than asked for', async () => {
    let inFlight = 0;
    let most = 0;
    const seen: number[] = [];
    await drive([1, 2, 3, 4, 5], 2, async (item) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      await Promise.resolve();
      seen.push(item);
      inFlight -= 1;
    });
    expect([most, seen.toSorted()]).toEqual([2, [1, 2, 3, 4, 5]]);
  });
});
