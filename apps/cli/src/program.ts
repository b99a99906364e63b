import { Command, CommanderError } from 'commander';
import * as bench from './commands/bench.js';
import * as def from './commands/def.js';
import * as demo from './commands/demo.js';
import * as doctor from './commands/doctor.js';
import * as down from './commands/down.js';
import * as migrate from './commands/migrate.js';
import * as run from './commands/run/index.js';
import * as saga from './commands/saga/index.js';
import * as status from './commands/status.js';
import * as up from './commands/up.js';
import { CliError, EXIT } from './errors.js';
import type { Screen } from './io/output.js';
import { visible } from './io/visible.js';

export function createProgram(screen: Screen): Command {
  const program = new Command('baton')
    .description('Workflows and sagas that survive anything.')
    // Options belong to the command that they follow: `run start --version 2` is not `--version`.
    .enablePositionalOptions()
    .showHelpAfterError('(--help tells more)');
  for (const command of [up, down, status, demo]) command.register(program);
  for (const command of [def, run, saga, migrate, doctor]) command.register(program, screen);
  bench.register(program);
  program.addHelpText('after', '\nAlso: ./baton verify, ./baton test [suite...] [--list]');
  prepare(program, screen);
  return program;
}

/** Errors come to `runProgram` instead of ending the process, and texts go to the screen. */
function prepare(command: Command, screen: Screen): void {
  command.exitOverride().configureOutput({ writeOut: screen.out, writeErr: screen.err });
  for (const sub of command.commands) prepare(sub, screen);
}

/** Runs one command line; the exit code says how it went (errors.ts). */
export async function runProgram(args: readonly string[], screen: Screen): Promise<number> {
  try {
    await createProgram(screen).parseAsync([...args], { from: 'user' });
    return EXIT.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    if (error instanceof CliError) {
      screen.err(visible(`baton: ${error.message}\n${error.details.map((line) => `  ${line}\n`).join('')}`));
      return error.exitCode;
    }
    screen.err(visible(`baton: ${error instanceof Error ? error.message : String(error)}\n`));
    if (process.env['BATON_LOG_LEVEL'] === 'debug' && error instanceof Error) screen.err(`${error.stack ?? ''}\n`);
    return EXIT.failed;
  }
}
