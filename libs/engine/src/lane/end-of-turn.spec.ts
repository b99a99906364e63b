import { completed, memoryEngine, startOf } from '../testing/index.js';

describe('when a batch begins', () => {
  it('those who are answered together go on together, however many promises lie between answer and next call', async () => {
    const { engine, store } = memoryEngine();
    const runs = await Promise.all(Array.from({ length: 8 }, () => startOf(engine, 'chain')));
    // The lane is idle again.
    await new Promise((resolve) => setImmediate(resolve));
    const writes: number[] = [];
    const write = store.write.bind(store);
    store.write = (batch) => {
      writes.push(batch.runs.length);
      return write(batch);
    };
    await Promise.all(
      runs.map(async ({ runId }, caller) => {
        for (const nodeId of ['a', 'b', 'c']) {
          for (let hop = 0; hop < caller; hop += 1) await Promise.resolve();
          await engine.report(completed(store, runId, nodeId));
        }
      }),
    );
    expect(writes).toEqual([8, 8, 8]);
    await engine.close();
  });
});
