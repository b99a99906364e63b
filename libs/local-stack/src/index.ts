export { LocalStackError, type LocalStackErrorCode } from './errors.js';
export { moveAside, readJson } from './files.js';
export { pollUntil, type PollOptions } from './conditions.js';
export { batonFolder, projectFolder } from './project.js';
export {
  commandOf,
  endProcess,
  identify,
  isRunning,
  readIdentity,
  type EndOptions,
  type ProcessIdentity,
} from './processes/identity.js';
export { describePortOwner, freePort, isPortFree, portOwner } from './processes/ports.js';
export { spawnServer, type ExitInfo, type ServerProcess, type SpawnOptions } from './processes/spawn-server.js';
export { type PostgresMajor, type Progress } from './postgres/binaries.js';
export { inspectDataFolder, runningPostgres } from './postgres/data-folder.js';
export { startPostgres, type PostgresOptions, type RunningPostgres } from './postgres/start.js';
export { inspectKafkaFolder, runningKafka } from './kafka/data-folder.js';
export { findJava } from './kafka/java.js';
export { checkKafkaPrerequisites } from './kafka/prerequisites.js';
export { startKafka, type KafkaOptions, type RunningKafka } from './kafka/start.js';
