import { endProcess } from '@baton/local-stack';
import type { Command } from 'commander';
import { layoutOf } from '../dev/layout.js';
import { dataFolderServers, endLeftovers, findLeftovers } from '../dev/leftovers.js';
import { readState, removeState, runningPlatform } from '../dev/state.js';

/** Longer than the longest orderly stop. */
const STOP_GRACE_MS = 20_000;

export function register(program: Command): void {
  program
    .command('down')
    .description('stop the platform that "up" started')
    .action(async () => {
      process.stdout.write(`${await down()}\n`);
    });
}

async function down(): Promise<string> {
  const layout = layoutOf();
  const started = performance.now();
  const running = runningPlatform(layout);
  if (running !== undefined) await endProcess(running.supervisor, { graceMs: STOP_GRACE_MS });
  const leftovers = findLeftovers(readState(layout), dataFolderServers(layout));
  await endLeftovers(leftovers);
  removeState(layout);
  if (running === undefined && leftovers.length === 0) return 'Nothing is up.';
  return `Stopped everything in ${((performance.now() - started) / 1000).toFixed(1)} s.`;
}
