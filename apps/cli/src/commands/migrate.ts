import type { MigrationSetStatus, MigrationStatus } from '@baton/migrations';
import type { Command } from 'commander';
import { databaseUrl, guarded } from '../io/database.js';
import { formatTable, withFormat, type Format, type Screen } from '../io/output.js';

interface MigrateOptions {
  readonly output: Format;
  readonly databaseUrl?: string;
}

interface UpOptions extends MigrateOptions {
  readonly publication: boolean;
  readonly library?: boolean;
}

export function register(program: Command, screen: Screen): void {
  const group = program.command('migrate').description('the database schema: bring it up to date, look at it');
  databaseCommand(group, 'up', 'apply what is missing; waits for another one that does')
    .option('--no-publication', 'leave out what only the relay needs (for the embedded runtime)')
    .option('--library', 'also what only the embedded runtime needs')
    .action((options: UpOptions) => up(options, screen));
  databaseCommand(group, 'status', 'what is applied and what is missing').action((options: MigrateOptions) =>
    status(options, screen),
  );
}

function databaseCommand(group: Command, name: string, description: string): Command {
  const command = withFormat(group.command(name).description(description));
  return command.option('--database-url <url>', 'PostgreSQL; else BATON_DATABASE_URL, else the one of "baton up"');
}

/** Loaded when it is needed: TypeORM would make every other command start a quarter of a second later. */
const loadMigrations = () => import('@baton/migrations');

async function up(options: UpOptions, screen: Screen): Promise<void> {
  const url = databaseUrl(options.databaseUrl);
  const { migrate } = await loadMigrations();
  const { applied } = await guarded(() =>
    migrate({
      url,
      publication: options.publication,
      library: options.library ?? false,
      onProgress: (line) => screen.err(`${line}\n`),
    }),
  );
  if (options.output === 'json') screen.out(`${JSON.stringify({ applied })}\n`);
  else screen.out(applied.length === 0 ? 'nothing to do\n' : `applied: ${applied.join(', ')}\n`);
}

async function status(options: MigrateOptions, screen: Screen): Promise<void> {
  const url = databaseUrl(options.databaseUrl);
  const { migrationStatus } = await loadMigrations();
  const found: MigrationStatus = await guarded(() => migrationStatus(url));
  if (options.output === 'json') screen.out(`${JSON.stringify(found)}\n`);
  else
    screen.out(
      formatTable(
        ['SET', 'MIGRATION', 'STATE'],
        [...rows('schema', found.schema), ...rows('publication', found.publication), ...rows('library', found.library)],
      ),
    );
}

function rows(set: string, found: MigrationSetStatus): string[][] {
  return [
    ...found.applied.map((name) => [set, name, 'applied']),
    ...found.pending.map((name) => [set, name, 'pending']),
    ...found.unknown.map((name) => [set, name, 'applied by a newer Baton']),
  ];
}
