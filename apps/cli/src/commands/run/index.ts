import type { Command } from 'commander';
import type { Screen } from '../../io/output.js';
import * as act from './act.js';
import * as show from './show.js';
import * as start from './start.js';
import * as trace from './trace.js';

export function register(program: Command, screen: Screen): void {
  const run = program.command('run').description('runs: start, show, list, cancel, retry, signal, trace');
  start.register(run, screen);
  show.register(run, screen);
  act.register(run, screen);
  trace.register(run, screen);
}
