import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync, readSync } from 'node:fs';
import { dirname } from 'node:path';
import { identify, type ProcessIdentity } from './identity.js';

export interface SpawnOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  /** Part of the command line by which the process is recognised later. */
  readonly marker: string;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly gid?: number;
}

export interface ExitInfo {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServerProcess {
  readonly pid: number;
  readonly identity: ProcessIdentity;
  readonly exited: Promise<ExitInfo>;
  exitInfo(): ExitInfo | undefined;
  send(signal: NodeJS.Signals): void;
  /** Lets our process end while this one goes on. */
  detach(): void;
  /** What the process has written to its log since it was started. */
  output(): string;
}

/**
 * Starts a server in a process group of its own, so that Ctrl-C in the terminal reaches the supervisor alone,
 * and with its output in a file, so that it outlives a killed parent without writing into a broken pipe.
 */
export async function spawnServer(options: SpawnOptions): Promise<ServerProcess> {
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, 'a');
  const logStart = fstatSync(log).size;
  const child = spawn(options.command, options.args, {
    detached: true,
    stdio: ['ignore', log, log],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.uid === undefined ? {} : { uid: options.uid }),
    ...(options.gid === undefined ? {} : { gid: options.gid }),
  });
  closeSync(log);
  let exit: ExitInfo | undefined;
  const exited = new Promise<ExitInfo>((resolve) => {
    child.once('exit', (code, signal) => resolve((exit = { code, signal })));
  });
  const pid = await startedPid(child);
  // A process that is gone already has no start time: any value will do, it never matches again.
  const identity = identify(pid, options.marker) ?? { pid, startTime: 'gone', marker: options.marker };
  return {
    pid,
    identity,
    exited,
    exitInfo: () => exit,
    send: (signal) => void child.kill(signal),
    detach: () => child.unref(),
    output: () => readFrom(options.logFile, logStart),
  };
}

function startedPid(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve(child.pid ?? 0));
  });
}

/** The text of a file from a byte offset on. */
export function readFrom(file: string, offset: number): string {
  if (!existsSync(file)) return '';
  if (offset === 0) return readFileSync(file, 'utf8');
  const fd = openSync(file, 'r');
  try {
    const length = Math.max(0, fstatSync(fd).size - offset);
    const buffer = Buffer.alloc(length);
    return buffer.toString('utf8', 0, readSync(fd, buffer, 0, length, offset));
  } finally {
    closeSync(fd);
  }
}
