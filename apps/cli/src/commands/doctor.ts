import type { DoctorReport, ExamineOptions, Finding, Progress } from '@baton/doctor';
import type { Command } from 'commander';
import { runningAddresses } from '../dev/running.js';
import { failed } from '../errors.js';
import { checkNamespace, databaseUrl, guarded } from '../io/database.js';
import { setting } from '../io/environment.js';
import { formatTable, withFormat, type Format, type Screen } from '../io/output.js';
import { visible } from '../io/visible.js';

interface DoctorOptions {
  readonly output: Format;
  readonly databaseUrl?: string;
  readonly brokers?: string;
  readonly namespace?: string;
  readonly slot?: string;
  readonly full?: true;
}

const HELP = `
Reads alone, and may be used while the platform works. Exit code 0: everything was looked at and nothing found;
1: a finding, a part that could not be looked at, or no run at all; 3: no database.`;

export function register(program: Command, screen: Screen): void {
  withFormat(
    program.command('doctor').description('look for broken invariants in the database and the topics of a platform'),
  )
    .option('--database-url <url>', 'PostgreSQL; else BATON_DATABASE_URL, else the one of "baton up"')
    .option('--brokers <host:port,...>', 'Kafka; else BATON_KAFKA_BROKERS, else the one of "baton up"')
    .option('--namespace <name>', 'only what belongs to this namespace')
    .option('--slot <name>', 'replication slot of the relay, if it is not the usual one')
    .option('--full', 'read the topics whole instead of the last messages of each partition')
    .addHelpText('after', HELP)
    .action((options: DoctorOptions) => doctor(options, screen));
}

async function doctor(options: DoctorOptions, screen: Screen): Promise<void> {
  await runDoctor(examination(options), options.output, screen);
}

/** Looks, prints, and fails unless all is well. */
export async function runDoctor(asked: ExamineOptions, format: Format, screen: Screen): Promise<void> {
  // Loaded when it is needed: it brings the readers of PostgreSQL and Kafka along.
  const { examine } = await import('@baton/doctor');
  const progress = new ProgressLine(format === 'table' && process.stderr.isTTY === true);
  const report = await guarded(() =>
    examine({ ...asked, onProgress: (now) => progress.show(now) }).finally(() => progress.clear()),
  );
  screen.out(format === 'json' ? `${JSON.stringify(report, null, 2)}\n` : tableOf(report));
  if (!report.ok) throw failed(reasonOf(report));
}

function examination(options: DoctorOptions): ExamineOptions {
  const url = databaseUrl(options.databaseUrl);
  const running = runningAddresses();
  // The Kafka of the platform that is up belongs to its database, and to no other.
  const brokers =
    options.brokers ?? setting('BATON_KAFKA_BROKERS') ?? (running?.databaseUrl === url ? running.brokers : undefined);
  const { namespace, slot, full } = options;
  if (namespace !== undefined) checkNamespace(namespace);
  return {
    databaseUrl: url,
    full: full === true,
    ...(brokers !== undefined && { brokers }),
    ...(namespace !== undefined && { namespace }),
    ...(slot !== undefined && { slot }),
  };
}

function tableOf(report: DoctorReport): string {
  const lines = report.checks.map(({ name, invariants, looked, findings, state }) => {
    const found = findings === 0 ? 'none' : String(findings);
    return [name, invariants.join(', '), state === 'done' ? found : state, looked];
  });
  const parts = [lines.length === 0 ? '' : formatTable(['CHECK', 'RULE', 'FINDINGS', 'LOOKED AT'], lines)];
  for (const finding of report.findings) parts.push(`\n${visible(lineOf(finding))}\n`);
  if (report.moreFindings > 0) parts.push(`\n... and ${report.moreFindings} more findings\n`);
  for (const { what, why } of report.unable) parts.push(`\nUNABLE to look at ${visible(what)}: ${visible(why)}\n`);
  if (report.ok) parts.push('\nNothing found.\n');
  return parts.join('');
}

function lineOf({ invariant, code, message, namespace, runId, nodeId }: Finding): string {
  const places = [namespace, runId && `run ${runId}`, nodeId && `node ${nodeId}`].filter(
    (place) => place !== undefined,
  );
  return `${invariant} ${code}${places.length === 0 ? '' : `  ${places.join(', ')}`}\n   ${message}`;
}

function reasonOf({ findings, moreFindings, unable, examined }: DoctorReport): string {
  const found = findings.length + moreFindings;
  if (found > 0) return `${found} finding${found === 1 ? '' : 's'}: see docs/how-to/check-a-platform.md`;
  if (unable.length > 0) return 'not everything could be looked at';
  return `nothing was examined: ${examined.runs} runs`;
}

const PACE_MS = 200;

/** One line that is written over, on a terminal only. */
class ProgressLine {
  private last = -Infinity;
  private shown = false;

  constructor(private readonly isTerminal: boolean) {}

  show({ check, done }: Progress): void {
    const now = performance.now();
    if (!this.isTerminal || now - this.last < PACE_MS) return;
    this.last = now;
    this.shown = true;
    process.stderr.write(`\r\u001b[K${check}: ${done}`);
  }

  clear(): void {
    if (this.shown) process.stderr.write('\r\u001b[K');
  }
}
