import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { pollUntil } from '../conditions.js';
import { readJson } from '../files.js';

/**
 * What makes a process recognisable as one of ours after its parent died: a bare pid may have been given to
 * somebody else since. The start time holds through exec; the marker is a part of the command line.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
  readonly marker: string;
}

/** The identity of a live process, or undefined when it is gone (a zombie is gone). */
export function identify(pid: number, marker: string): ProcessIdentity | undefined {
  const startTime = startTimeOf(pid);
  return startTime === undefined ? undefined : { pid, startTime, marker };
}

export function isRunning({ pid, startTime, marker }: ProcessIdentity): boolean {
  const started = startTimeOf(pid);
  return started !== undefined && started === startTime && (commandOf(pid) ?? '').includes(marker);
}

/** An identity from a file; undefined when the file is missing or holds anything else. */
export function readIdentity(file: string): ProcessIdentity | undefined {
  const found = readJson<Partial<ProcessIdentity> | null>(file);
  const { pid, startTime, marker } = found ?? {};
  const complete = typeof pid === 'number' && typeof startTime === 'string' && typeof marker === 'string';
  return complete ? { pid, startTime, marker } : undefined;
}

/** The command line of a process, as one string; undefined when it is gone. */
export function commandOf(pid: number): string | undefined {
  if (process.platform === 'linux') {
    const text = readProc(`/proc/${pid}/cmdline`);
    return text === undefined ? undefined : text.replaceAll('\0', ' ').trim();
  }
  return ps(pid, 'command=');
}

export interface EndOptions {
  /** Asked first; SIGKILL follows when the process has not gone within the grace. */
  readonly signal?: NodeJS.Signals;
  readonly graceMs?: number;
}

/** Ends a process only if it is still the one that was recorded. Tells how it went. */
export async function endProcess(
  identity: ProcessIdentity,
  options: EndOptions = {},
): Promise<'was-gone' | 'ended' | 'killed'> {
  if (!isRunning(identity)) return 'was-gone';
  send(identity.pid, options.signal ?? 'SIGTERM');
  if (await isGone(identity, options.graceMs ?? 8000)) return 'ended';
  if (!isRunning(identity)) return 'ended';
  send(identity.pid, 'SIGKILL');
  await isGone(identity, 5000);
  return 'killed';
}

async function isGone(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  return (await pollUntil(() => (isRunning(identity) ? undefined : true), { timeoutMs })) === true;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone between the check and the signal: that is what was wanted.
  }
}

function startTimeOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return ps(pid, 'lstart=');
  const stat = readProc(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the name in parentheses and may hold spaces; fields are counted after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return `${bootId()}:${fields[19] ?? ''}`;
}

let cachedBootId: string | undefined;
/** Start times count from boot: without it a pid and ticks could meet again after a reboot. */
function bootId(): string {
  cachedBootId ??= (readProc('/proc/sys/kernel/random/boot_id') ?? 'boot').trim().slice(0, 8);
  return cachedBootId;
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function ps(pid: number, field: string): string | undefined {
  try {
    const text = execFileSync('ps', ['-o', field, '-p', String(pid)], { encoding: 'utf8' }).trim();
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}
