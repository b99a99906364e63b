export { migrate, type MigrateOptions, type MigrateResult } from './migrate.js';
