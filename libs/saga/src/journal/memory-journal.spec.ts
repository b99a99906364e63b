import { describeJournal } from '../testing/journal-suite.js';
import { openMemorySagaStore } from '../testing/memory-store.js';

describeJournal('a database in memory', () => {
  const store = openMemorySagaStore();
  return Promise.resolve({
    store,
    advance: (ms) => Promise.resolve(store.advance(ms)),
    close: () => store.close(),
  });
});
