export {
  completedReport,
  engineOn,
  failedReport,
  openTasks,
  publish,
  type EngineOnPostgres,
  type OpenTask,
} from './engine-on-postgres.js';
export { loadRows } from './load-rows.js';
export { engineSession, findingsOf, genericPlan, type IndexExceptions } from './plans.js';
export { MAJORS, storeFixture, type StoreFixture } from './store-fixture.js';
export { NAMESPACE, newRunId } from './writes.js';
