export { MemoryStore } from './memory-store.js';
export { withFaults, type Fault } from './faulty-store.js';
export { plainTemplates } from './plain-templates.js';
export { chain, diamond, single } from './definitions.js';
export {
  completed,
  countedIds,
  engineOptions,
  failed,
  memoryEngine,
  openTask,
  publish,
  sha256,
  startOf,
  storeWithDefinitions,
} from './engine-fixture.js';
export { describeStore, type StoreUnderTest } from './store-suite.js';
