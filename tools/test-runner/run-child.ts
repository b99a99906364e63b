import { spawn, type ChildProcess } from 'node:child_process';
import type { Ended } from './counts.ts';

const graceMs = 10_000;

export interface ChildOptions {
  cwd: string;
  /** After this instant (ms since 1970) it is stopped. */
  deadline: number;
  /** Capture its output instead of showing it. */
  quiet: boolean;
  /** Asked twice a second: a reason to stop it early. */
  shouldStop?: () => string | undefined;
}

/**
 * Runs one command as a process group of its own, so that stopping it stops what it started too (test servers).
 * Ctrl-C is passed on by hand, because a process group of its own does not get it from the terminal.
 */
export async function runChild(command: string[], options: ChildOptions): Promise<Ended & { output: string }> {
  const [file, ...args] = command as [string, ...string[]];
  const child = spawn(file, args, {
    cwd: options.cwd,
    detached: true,
    stdio: options.quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
    env: childEnvironment(),
  });
  const chunks: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk));
  const stopper = new Stopper(child, options);
  try {
    const code = await ended(child);
    return { code, output: Buffer.concat(chunks).toString('utf8'), ...stopper.verdict() };
  } finally {
    stopper.dispose();
  }
}

// Jest gets its flag on its own command line (run-suite.ts). In the environment it would reach every service that
// a test starts.
function childEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _dropped, ...environment } = process.env;
  return { ...environment, NX_DAEMON: 'false', NX_TUI: 'false', NX_NO_CLOUD: 'true', FORCE_COLOR: '0' };
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}

class Stopper {
  private readonly child: ChildProcess;
  private readonly options: ChildOptions;
  private readonly poll: NodeJS.Timeout;
  private kill: NodeJS.Timeout | undefined;
  private reason: string | undefined;
  private readonly interrupt = (): void => this.stop('interrupted');

  constructor(child: ChildProcess, options: ChildOptions) {
    this.child = child;
    this.options = options;
    this.poll = setInterval(() => this.look(), 500);
    process.on('SIGINT', this.interrupt);
    process.on('SIGTERM', this.interrupt);
  }

  verdict(): { stopped?: string } {
    return this.reason === undefined ? {} : { stopped: this.reason };
  }

  dispose(): void {
    clearInterval(this.poll);
    clearTimeout(this.kill);
    process.off('SIGINT', this.interrupt);
    process.off('SIGTERM', this.interrupt);
    // What it started and left behind ends with it.
    this.signal('SIGKILL');
  }

  private look(): void {
    if (Date.now() > this.options.deadline) this.stop('took too long and was stopped');
    else {
      const reason = this.options.shouldStop?.();
      if (reason !== undefined) this.stop(reason);
    }
  }

  private stop(reason: string): void {
    if (this.reason !== undefined) return;
    this.reason = reason;
    this.signal('SIGTERM');
    this.kill = setTimeout(() => this.signal('SIGKILL'), graceMs);
  }

  private signal(signal: NodeJS.Signals): void {
    if (this.child.pid === undefined) return;
    try {
      process.kill(-this.child.pid, signal);
    } catch {
      // The group is gone already.
    }
  }
}
