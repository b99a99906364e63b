import { Command } from 'commander';
import * as demo from './commands/demo.js';
import * as down from './commands/down.js';
import * as status from './commands/status.js';
import * as up from './commands/up.js';

const program = new Command('baton');
for (const command of [up, down, status, demo]) command.register(program);
void program.parseAsync(process.argv);
