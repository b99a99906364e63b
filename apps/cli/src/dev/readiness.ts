import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const REQUEST_TIMEOUT_MS = 2_000;
const POLL_MS = 100;

export interface Readiness {
  readonly ready: boolean;
  /** Why not, as far as the service says. */
  readonly reason: string;
}

export async function askReadiness(adminPort: number): Promise<Readiness> {
  try {
    const response = await fetch(`http://127.0.0.1:${adminPort}/readyz`, {
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.text();
    return { ready: response.ok, reason: response.ok ? '' : text.slice(0, 200) };
  } catch {
    return { ready: false, reason: 'no answer' };
  }
}

export interface Awaited {
  readonly name: string;
  readonly adminPort: number;
  readonly logFile: string;
  /** How often it had to be started again so far. */
  readonly restarts: () => number;
}

export interface AwaitOptions {
  readonly timeoutMs: number;
  readonly onReady: (name: string) => void;
}

const RESTART_LIMIT = 3;

/** Waits until a service says that it is ready; a service that keeps crashing, or takes too long, is an error. */
export async function awaitReady(service: Awaited, { timeoutMs, onReady }: AwaitOptions): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { ready, reason } = await askReadiness(service.adminPort);
    if (ready) return onReady(service.name);
    if (service.restarts() >= RESTART_LIMIT) {
      throw new Error(`${service.name} keeps ending (${lastLogMessage(service.logFile)}); see ${service.logFile}`);
    }
    if (performance.now() >= deadline) {
      throw new Error(
        `${service.name} did not become ready within ${timeoutMs / 1000} s (${reason}); see ${service.logFile}`,
      );
    }
    await delay(POLL_MS);
  }
}

/** The last thing that a service said: the message of a log record, or the line as it is. */
export function lastLogMessage(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return 'it wrote no log';
  }
  const line = text.trimEnd().split('\n').at(-1) ?? '';
  try {
    const record = JSON.parse(line) as { msg?: string; err?: { message?: string } };
    return [record.msg, record.err?.message]
      .filter((part) => part !== undefined)
      .join(': ')
      .slice(0, 300);
  } catch {
    return line.slice(0, 300);
  }
}
