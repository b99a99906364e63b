import type { Command } from 'commander';
import type { Screen } from '../../io/output.js';
import * as doctor from './doctor.js';
import * as retryCompensation from './retry-compensation.js';
import * as show from './show.js';

export function register(program: Command, screen: Screen): void {
  const group = program
    .command('saga')
    .description('sagas of the embedded runtime, by their database: list, show, retry-compensation, doctor');
  show.register(group, screen);
  retryCompensation.register(group, screen);
  doctor.register(group, screen);
}
