import type { MigrationSetStatus, MigrationStatus } from '@baton/migrations';
import type { Command } from 'commander';
import { runningAddresses } from '../dev/running.js';
import { failed, unreachable, usageError } from '../errors.js';
import { setting } from '../io/environment.js';
import { formatTable, withFormat, type Format, type Screen } from '../io/output.js';

interface MigrateOptions {
  readonly output: Format;
  readonly databaseUrl?: string;
}

export function register(program: Command, screen: Screen): void {
  const group = program.command('migrate').description('the database schema: bring it up to date, look at it');
  databaseCommand(group, 'up', 'apply what is missing; waits for another one that does')
    .option('--no-publication', 'leave out what only the relay needs (for the embedded runtime)')
    .action((options: MigrateOptions & { publication: boolean }) => up(options, screen));
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

async function up(options: MigrateOptions & { readonly publication: boolean }, screen: Screen): Promise<void> {
  const url = databaseUrl(options);
  const { migrate } = await loadMigrations();
  const { applied } = await guarded(() =>
    migrate({ url, publication: options.publication, onProgress: (line) => screen.err(`${line}\n`) }),
  );
  if (options.output === 'json') screen.out(`${JSON.stringify({ applied })}\n`);
  else screen.out(applied.length === 0 ? 'nothing to do\n' : `applied: ${applied.join(', ')}\n`);
}

async function status(options: MigrateOptions, screen: Screen): Promise<void> {
  const url = databaseUrl(options);
  const { migrationStatus } = await loadMigrations();
  const found: MigrationStatus = await guarded(() => migrationStatus(url));
  if (options.output === 'json') screen.out(`${JSON.stringify(found)}\n`);
  else
    screen.out(
      formatTable(
        ['SET', 'MIGRATION', 'STATE'],
        [...rows('schema', found.schema), ...rows('publication', found.publication)],
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

function databaseUrl(options: MigrateOptions): string {
  const url = options.databaseUrl ?? setting('BATON_DATABASE_URL') ?? runningAddresses()?.databaseUrl;
  if (url === undefined) throw usageError('which database? Give --database-url or set BATON_DATABASE_URL');
  if (!/^postgres(ql)?:\/\//.test(url)) throw usageError('the database address must begin with postgres://');
  return url;
}

/** Codes of Node and of PostgreSQL (class 08 and 57P03) that mean "there is no server to talk to". */
const noServer = /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE|08...|57P03)$/;

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = firstCause(error);
    if (noServer.test(code)) throw unreachable(`no database answers: ${message || code}`);
    throw failed(message);
  }
}

/** A host with two addresses fails with one error that holds one error for each. */
function firstCause(error: unknown): { code: string; message: string } {
  const inner = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const { code, message } = inner as { code?: unknown; message?: unknown };
  return { code: String(code ?? ''), message: String(message ?? inner) };
}
