import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

/** A child process that runs a TypeScript source of this library. */
export class ProbeProcess {
  output = '';
  readonly exited: Promise<number | null>;
  private readonly child: ChildProcess;

  constructor(source: string, env: Readonly<Record<string, string>> = {}) {
    const args = ['--conditions=@baton/source', '--require', join(__dirname, 'run-ts.cjs'), join(__dirname, source)];
    this.child = spawn(process.execPath, args, { env: { PATH: process.env['PATH'] ?? '', ...env } });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    this.exited = new Promise((resolve) => this.child.once('close', (code) => resolve(code)));
  }

  async says(text: string): Promise<void> {
    const ended = this.exited.then(() => true);
    while (!this.output.includes(text)) {
      const isOver = await Promise.race([ended, new Promise<false>((resolve) => setTimeout(() => resolve(false), 20))]);
      if (isOver && !this.output.includes(text)) throw new Error(`ended without ${text}: ${this.output}`);
    }
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  get adminPort(): number {
    return Number(/"admin_port":(\d+)/.exec(this.output)?.[1]);
  }
}
