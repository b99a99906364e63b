import { openMemorySagaStore } from '../testing/memory-store.js';
import { describeSubscribers } from '../testing/subscriber-suite.js';

describeSubscribers('a database in memory', () => {
  const store = openMemorySagaStore();
  return Promise.resolve({
    store,
    advance: (ms) => Promise.resolve(store.advance(ms)),
    close: () => store.close(),
  });
});
