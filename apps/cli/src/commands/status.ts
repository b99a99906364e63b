import { isRunning } from '@baton/local-stack';
import { Option, type Command } from 'commander';
import { addressTable } from '../dev/address-table.js';
import { layoutOf } from '../dev/layout.js';
import { residentMiB } from '../dev/memory.js';
import { askReadiness } from '../dev/readiness.js';
import { runningPlatform, type PlatformState, type RecordedProcess } from '../dev/state.js';

interface ProcessStatus {
  readonly name: string;
  readonly pid: number;
  readonly running: boolean;
  /** null for processes that have no admin port: running is all that is known. */
  readonly ready: boolean | null;
  readonly restarts: number;
  readonly memoryMiB: number | null;
  readonly logFile: string;
}

const UNREACHABLE = 3;

export function register(program: Command): void {
  program
    .command('status')
    .description('show what is up: processes, readiness, memory and addresses')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['json', 'table']).default('table'))
    .action(async ({ output }: { output: 'json' | 'table' }) => {
      process.exitCode = await status(output === 'json');
    });
}

async function status(json: boolean): Promise<number> {
  const layout = layoutOf();
  const state = runningPlatform(layout);
  if (state === undefined) {
    process.stdout.write(json ? '{"up":false}\n' : 'Nothing is up: start it with "./baton up".\n');
    return UNREACHABLE;
  }
  const processes = await Promise.all(state.processes.map(processStatus));
  const healthy = processes.every(({ running, ready }) => running && ready !== false);
  process.stdout.write(json ? jsonOf(state, processes) : tableOf(state, processes));
  if (!json && state.addresses !== undefined) process.stdout.write(`\n${addressTable(state.addresses, layout)}\n`);
  return healthy && state.phase !== 'starting' ? 0 : 1;
}

async function processStatus({
  name,
  identity,
  restarts,
  logFile,
  adminPort,
}: RecordedProcess): Promise<ProcessStatus> {
  const ready = adminPort === undefined ? null : (await askReadiness(adminPort)).ready;
  const memoryMiB = residentMiB(identity.pid) ?? null;
  return { name, pid: identity.pid, running: isRunning(identity), ready, restarts, memoryMiB, logFile };
}

function jsonOf(state: PlatformState, processes: readonly ProcessStatus[]): string {
  const { phase, startedAt, supervisor, addresses } = state;
  return `${JSON.stringify({ up: true, phase, startedAt, supervisorPid: supervisor.pid, addresses, processes }, null, 2)}\n`;
}

function tableOf(state: PlatformState, processes: readonly ProcessStatus[]): string {
  const header = `Baton is ${state.phase === 'up' ? 'up' : state.phase} since ${state.startedAt} (pid ${state.supervisor.pid})\n\n`;
  const rows = processes.map(({ name, pid, running, ready, restarts, memoryMiB }) => [
    name,
    running ? (ready === false ? 'not ready' : ready === null ? 'running' : 'ready') : 'not running',
    String(pid),
    memoryMiB === null ? '-' : `${memoryMiB} MiB`,
    restarts === 0 ? '' : `${restarts} restarts`,
  ]);
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd(),
  );
  return `${header}${lines.join('\n')}\n`;
}
