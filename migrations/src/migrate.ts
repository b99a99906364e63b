import { DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { LIBRARY_SET, migrationNames, PUBLICATION_SET, SCHEMA_SET, type MigrationSet } from './migration-sets.js';
import { ensurePartitions } from './partitions.js';

export interface MigrateOptions {
  readonly url: string;
  /** Platform mode: also make the publication that the relay reads (R29). */
  readonly publication: boolean;
  /** Library mode: also make the indexes that claims and readers of events use (R29). */
  readonly library?: boolean;
  /** One sentence for each step, for people. */
  readonly onProgress?: (message: string) => void;
}

export interface MigrateResult {
  /** Names of the migrations that this call applied; empty = the database was up to date. */
  readonly applied: readonly string[];
}

/** Any fixed number will do; all processes that migrate one database must use the same. */
const MIGRATION_LOCK = 727_274_001;

/**
 * Brings the database to this build's schema. Any number of processes may call it at once: one applies, the
 * others wait and find nothing left to do. What a killed process had begun is rolled back by the server, and the
 * next call starts again.
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const report = options.onProgress ?? (() => undefined);
  const applied: string[] = [];
  for (const set of setsOf(options)) {
    applied.push(...(await migrateSet(options.url, set, report)));
  }
  return { applied };
}

function setsOf({ publication, library = false }: MigrateOptions): readonly MigrationSet[] {
  return [SCHEMA_SET, ...(publication ? [PUBLICATION_SET] : []), ...(library ? [LIBRARY_SET] : [])];
}

async function migrateSet(url: string, set: MigrationSet, report: (message: string) => void): Promise<string[]> {
  const source = new DataSource({
    type: 'postgres',
    url,
    schema: 'baton',
    applicationName: 'baton migrate',
    migrations: [...set.migrations],
    migrationsTableName: set.table,
    migrationsRun: false,
    synchronize: false,
    // TypeORM would try uuid-ossp, which may need a superuser; nothing here uses an extension.
    installExtensions: false,
    logging: false,
    poolSize: 1,
  });
  await source.initialize();
  const runner = source.createQueryRunner();
  try {
    return await applyPending(source, runner, set, report);
  } finally {
    await runner.release();
    await source.destroy();
  }
}

/**
 * One transaction around everything, the migrations table included: TypeORM's executor takes no lock of its own,
 * and two processes would race for that table. The lock is one of the transaction, so that it also works through
 * a pooler, and goes with a killed process.
 */
async function applyPending(
  source: DataSource,
  runner: QueryRunner,
  set: MigrationSet,
  report: (message: string) => void,
): Promise<string[]> {
  await runner.startTransaction();
  try {
    await runner.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await createSchemaIfMissing(runner);
    const executor = new MigrationExecutor(source, runner);
    // The transaction is ours.
    executor.transaction = 'none';
    const executed = await executor.executePendingMigrations();
    if (set === SCHEMA_SET) await ensurePartitions(runner);
    await runner.commitTransaction();
    const names = executed.map((migration) => migration.name);
    report(progressOf(set, names));
    return names;
  } catch (error) {
    // The first error is the one that matters; a rollback on a dead connection only hides it (B116).
    await runner.rollbackTransaction().catch(() => undefined);
    throw error;
  }
}

/** Not CREATE SCHEMA IF NOT EXISTS: that asks for CREATE on the database even when the schema is there. */
async function createSchemaIfMissing(runner: QueryRunner): Promise<void> {
  const rows: readonly { readonly missing: boolean }[] = await runner.query(
    `SELECT to_regnamespace('baton') IS NULL AS missing`,
  );
  if (rows[0]?.missing) await runner.query('CREATE SCHEMA baton');
}

function progressOf(set: MigrationSet, applied: readonly string[]): string {
  const total = migrationNames(set).length;
  return applied.length === 0
    ? `${set.label}: up to date (${total} of ${total})`
    : `${set.label}: applied ${applied.join(', ')}`;
}
