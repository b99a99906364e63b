import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { usageError } from '../errors.js';

const benchFolder = join(__dirname, '../../../../bench/dist');

/** Benches are programs of their own: measured without this tool around them. */
export function register(program: Command): void {
  program
    .command('bench <name> [args...]')
    .description('measure: engine, hop, library (arguments go to the bench: -o json; library: --heap)')
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .action(async (name: string, args: string[]) => {
      process.exitCode = await runBench(name, args);
    });
}

async function runBench(name: string, args: readonly string[]): Promise<number> {
  const script = join(benchFolder, `${name}.js`);
  if (!/^[a-z][a-z-]*$/.test(name) || name === 'index' || !existsSync(script)) {
    throw usageError(`there is no bench ${name}: engine, hop, library`);
  }
  const child = spawn(process.execPath, [script, ...args], { stdio: 'inherit' });
  // Ctrl-C reaches both from the terminal: the bench cleans up, and this waits for it.
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore);
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code ?? 1));
    });
  } finally {
    process.off('SIGINT', ignore);
  }
}
