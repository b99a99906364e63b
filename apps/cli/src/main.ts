import { terminalScreen } from './io/output.js';
import { runProgram } from './program.js';

// `baton run list | head -1`: the reader has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

void runProgram(process.argv.slice(2), terminalScreen()).then((code) => {
  // Set, not exit(): what is still being printed is printed. A command may have set its own before.
  if (code !== 0) process.exitCode = code;
});
