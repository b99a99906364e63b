import type { Command } from 'commander';

export function register(program: Command): void {
  program.command('down').description('not built yet');
}
