import type { Command } from 'commander';
import { checkNamespace, databaseUrl } from '../../io/database.js';
import { withFormat, type Format, type Screen } from '../../io/output.js';
import { runDoctor } from '../doctor.js';

interface DoctorOptions {
  readonly output: Format;
  readonly databaseUrl?: string;
  readonly namespace?: string;
}

export function register(group: Command, screen: Screen): void {
  withFormat(group.command('doctor').description('look for broken invariants in the database; reads alone'))
    .option('--database-url <url>', 'PostgreSQL; else BATON_DATABASE_URL, else the one of "baton up"')
    .option('--namespace <name>', 'only what belongs to this namespace')
    .action((options: DoctorOptions) => doctor(options, screen));
}

/** The same as "baton doctor", without brokers: there is no relay and no topic in this mode. */
async function doctor({ output, namespace, ...options }: DoctorOptions, screen: Screen): Promise<void> {
  if (namespace !== undefined) checkNamespace(namespace);
  const asked = { databaseUrl: databaseUrl(options.databaseUrl), ...(namespace !== undefined && { namespace }) };
  await runDoctor(asked, output, screen);
}
