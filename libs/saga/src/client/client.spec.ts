import { openMemorySagaStore, type MemorySagaStore } from '../testing/memory-store.js';
import { describeClient } from './testing/client-suite.js';

let store: MemorySagaStore | undefined;

describeClient(
  'memory',
  () => {
    store ??= openMemorySagaStore();
    return Promise.resolve(store);
  },
  () => {
    store = undefined;
    return Promise.resolve();
  },
);
