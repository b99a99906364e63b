export { fakeClock, settle, type FakeClock } from './fake-clock.js';
export { openMemorySagaStore, type MemorySagaStore, type MemoryStoreOptions } from './memory-store.js';
export { describeJournal } from './journal-suite.js';
export type { MakeStore, StoreUnderTest } from './journal-world.js';
export { resolverSuite, type ResolverSubject } from '../definition/testing/resolver-suite.js';
