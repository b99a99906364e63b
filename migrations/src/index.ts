export { migrate, type MigrateOptions, type MigrateResult } from './migrate.js';
export { ensurePartitions, type SqlRunner } from './partitions.js';
export {
  checkSchemaVersion,
  migrationStatus,
  SCHEMA_VERSION,
  type MigrationSetStatus,
  type MigrationStatus,
  type SchemaCheck,
  type SchemaReader,
} from './status.js';
