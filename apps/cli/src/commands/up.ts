import type { Command } from 'commander';

export function register(program: Command): void {
  program.command('up').description('not built yet');
}
