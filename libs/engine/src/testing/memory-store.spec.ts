import { countedIds } from './engine-fixture.js';
import { MemoryStore } from './memory-store.js';
import { describeStore } from './store-suite.js';

describeStore('the store in memory', () => {
  const store = new MemoryStore();
  return Promise.resolve({
    store,
    newId: countedIds(store.nowMs),
    advance: (ms) => {
      store.nowMs += ms;
      return Promise.resolve();
    },
    outbox: (runId) => Promise.resolve(store.outbox.filter((row) => row.runId === runId)),
    close: () => store.close(),
  });
});
