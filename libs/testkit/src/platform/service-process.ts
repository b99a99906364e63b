import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync, readFileSync, type WriteStream } from 'node:fs';
import { dirname, join } from 'node:path';

/** How to start one service of the platform. */
export interface ServiceSpec {
  /** Unique in the platform: `coordinator-1`. */
  readonly name: string;
  /** Script relative to the workspace root. */
  readonly script: string;
  readonly env: Readonly<Record<string, string>>;
  /** Admin port; absent for processes without one (the worker fleet). */
  readonly adminPort?: number;
}

/** Root of the workspace, from the compiled or the source position of this file. */
export const workspaceRoot = join(__dirname, '..', '..', '..', '..');

/**
 * One OS process of the platform under test: started, killed and restarted for real.
 *
 * Owns: the child process and its log file. Does not own: ports, databases.
 */
export class ServiceProcess {
  private child: ChildProcess | undefined;
  private log: WriteStream | undefined;
  private exited: Promise<number | null> = Promise.resolve(null);

  constructor(
    readonly spec: ServiceSpec,
    private readonly logDir: string,
  ) {}

  get pid(): number {
    const pid = this.child?.pid;
    if (pid === undefined) throw new Error(`${this.spec.name} is not running`);
    return pid;
  }

  get running(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  get logFile(): string {
    return join(this.logDir, `${this.spec.name}.log`);
  }

  start(): void {
    if (this.running) return;
    mkdirSync(dirname(this.logFile), { recursive: true });
    this.log = createWriteStream(this.logFile, { flags: 'a' });
    const { NODE_OPTIONS: _jestOnly, ...inherited } = process.env;
    const child = spawn(process.execPath, [join(workspaceRoot, this.spec.script)], {
      env: { ...inherited, ...this.spec.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.pipe(this.log, { end: false });
    child.stderr.pipe(this.log, { end: false });
    this.exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
    this.child = child;
  }

  /** Resolves when /readyz answers 200; rejects with the log's tail when the process ends or time is up. */
  async ready(timeoutMs = 30_000): Promise<void> {
    const port = this.spec.adminPort;
    if (port === undefined) return;
    const until = Date.now() + timeoutMs;
    for (;;) {
      if (!this.running) throw new Error(`${this.spec.name} ended before it was ready\n${this.tail()}`);
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      if (answer?.ok === true) return;
      if (Date.now() > until) {
        const why = answer === undefined ? 'no answer' : await answer.text();
        throw new Error(`${this.spec.name} is not ready after ${timeoutMs} ms: ${why}\n${this.tail()}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal);
  }

  /** SIGSTOP: the process stands still with all that it holds, and its connections stay open. */
  freeze(): void {
    this.signal('SIGSTOP');
  }

  /** SIGCONT: it goes on as if no time had passed. */
  thaw(): void {
    this.signal('SIGCONT');
  }

  /** SIGKILL, and wait until the process is gone. */
  async kill(): Promise<void> {
    if (!this.running) return;
    this.signal('SIGKILL');
    await this.exited;
  }

  /** SIGTERM; answers the exit code. After `graceMs` the test has failed: SIGKILL and an error. */
  async stop(graceMs = 15_000): Promise<number | null> {
    if (!this.running) return null;
    this.signal('SIGTERM');
    const timer = setTimeout(() => this.child?.kill('SIGKILL'), graceMs);
    const code = await this.exited;
    clearTimeout(timer);
    if (this.child?.signalCode === 'SIGKILL') {
      throw new Error(`${this.spec.name} did not stop within ${graceMs} ms\n${this.tail()}`);
    }
    return code;
  }

  tail(lines = 30): string {
    try {
      return readFileSync(this.logFile, 'utf8').split('\n').slice(-lines).join('\n');
    } catch {
      return '(no log)';
    }
  }
}
