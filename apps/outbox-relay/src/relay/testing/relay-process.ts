import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const script = join(__dirname, '..', '..', '..', 'dist', 'main.js');

export interface LogLine {
  readonly msg: string;
  readonly level: string;
}

/** The relay as the process that it is: killed, frozen and continued for real. */
export class RelayProcess {
  readonly lines: LogLine[] = [];
  private readonly child: ChildProcess;
  private readonly exited: Promise<number | null>;

  constructor(env: Readonly<Record<string, string>>) {
    if (!existsSync(script)) throw new Error('the relay is not built: run "tsc -b apps/outbox-relay" first');
    const { NODE_OPTIONS: _ofJest, ...inherited } = process.env;
    this.child = spawn(process.execPath, [script], {
      env: { ...inherited, BATON_ADMIN_PORT: '0', NODE_ENV: 'test', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.exited = new Promise((resolve) => this.child.once('exit', (code) => resolve(code)));
    if (this.child.stdout === null) throw new Error('no output');
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      if (line.startsWith('{')) this.lines.push(JSON.parse(line) as LogLine);
    });
  }

  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error('the relay did not start');
    return pid;
  }

  said(message: string): boolean {
    return this.lines.some((line) => line.msg.startsWith(message));
  }

  get isStreaming(): boolean {
    return this.said('streaming');
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
  }

  async stop(): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    this.signal('SIGCONT');
    this.signal('SIGTERM');
    return this.exited;
  }
}
