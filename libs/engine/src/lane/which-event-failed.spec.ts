import { FenceMissError, StoreError } from '../ports.js';
import { completed, memoryEngine, startOf, storeWithDefinitions, withFaults } from '../testing/index.js';

describe('R5: which event of a batch has failed', () => {
  const setup = async (count: number) => {
    const store = storeWithDefinitions();
    const { store: faulty, faults } = withFaults(store);
    const { engine } = memoryEngine({ store: faulty }, store);
    const started = await Promise.all(Array.from({ length: count }, () => startOf(engine, 'single')));
    const runs = started.map(({ runId }) => runId);
    const reportAll = () => Promise.all(runs.map((runId) => engine.report(completed(store, runId, 'only'))));
    return { store, faults, runs, reportAll };
  };

  it('R5: is known by name when runs are stale: those go alone, the others at once, and nobody hears of it', async () => {
    const { store, faults, runs, reportAll } = await setup(8);
    const stale = [runs[2] ?? '', runs[5] ?? ''];
    const written: number[] = [];
    faults.push({
      statement: 'write',
      when: 'before',
      error: new FenceMissError(stale),
      times: 1,
      matches: ([batch]) => written.push((batch as { runs: unknown[] }).runs.length) > 0,
    });
    expect(await reportAll()).toEqual(runs.map(() => 'APPLIED'));
    expect(written).toEqual([8]);
    expect(store.outbox.filter(({ type }) => type === 'run.succeeded')).toHaveLength(8);
  });

  it.each([
    ['a serialization failure', new StoreError('transient', 'could not serialize', '40001')],
    ['a deadlock', new StoreError('transient', 'deadlock detected', '40P01')],
    ['a connection lost before COMMIT', new StoreError('transient', 'Connection terminated unexpectedly')],
  ])('R5: is none of them after %s: the batch is repeated', async (_what, error) => {
    const { store, faults, runs, reportAll } = await setup(4);
    faults.push({ statement: 'readRuns', when: 'before', error, times: 1 });
    faults.push({ statement: 'write', when: 'before', error, times: 2 });
    expect(await reportAll()).toEqual(runs.map(() => 'APPLIED'));
    expect(store.outbox.filter(({ type }) => type === 'run.succeeded')).toHaveLength(4);
  });
});
