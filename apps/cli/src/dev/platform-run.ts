import type { Layout } from './layout.js';
import { ownIdentity, releaseLock, takeLock } from './lock.js';
import type { Progress } from './progress.js';
import { externalServers } from './external.js';
import { runningPlatform, type Addresses } from './state.js';
import type { Mode } from './mode.js';
import { PlatformSupervisor } from './supervisor.js';

export interface PlatformRun {
  readonly layout: Layout;
  readonly progress: Progress;
  readonly mode: Mode;
  /** What happens on the platform once it is ready; the platform is stopped when it returns. */
  readonly use: (addresses: Addresses, supervisor: PlatformSupervisor) => Promise<void>;
}

/** Another supervisor has the folder. */
export class AlreadyUpError extends Error {
  constructor(pid: number) {
    super(`Baton is already up here (pid ${pid}): see "./baton status", or stop it with "./baton down".`);
    this.name = 'AlreadyUpError';
  }
}

/**
 * Brings the platform up, uses it, and takes it down again whatever happens: at the end, after an error, or when a
 * signal asks for it, be it in the middle of the start.
 */
export async function withPlatform({ layout, progress, mode, use }: PlatformRun): Promise<void> {
  const self = ownIdentity();
  const lock = takeLock(layout.lockFile, self);
  if (lock.kind === 'held') throw new AlreadyUpError(lock.holder.pid);
  outliveOutput();
  const stopRequested = stopSignal(progress);
  const supervisor = new PlatformSupervisor({ layout, self, progress, external: externalServers(), mode });
  try {
    // The lock file was deleted under a living supervisor.
    const other = runningPlatform(layout);
    if (other !== undefined) throw new AlreadyUpError(other.supervisor.pid);
    await Promise.race([supervisor.start().then((addresses) => use(addresses, supervisor)), stopRequested]);
  } finally {
    const stopping = performance.now();
    const stopped = await supervisor.stop();
    releaseLock(layout.lockFile, self);
    if (stopped) progress.say(`Stopped everything in ${((performance.now() - stopping) / 1000).toFixed(1)} s`);
  }
}

/**
 * A terminal that was closed, or a reader that has seen enough, must not end the supervisor in the middle: its
 * processes would stay behind.
 */
function outliveOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error');
    stream.on('error', () => undefined);
  }
}

/** Resolves at the first SIGINT, SIGTERM or SIGHUP; later ones change nothing, the stop is under way. */
function stopSignal(progress: Progress): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        progress.say(`${signal}: stopping`);
        resolve();
      });
    }
  });
}

/** Waits until a signal ends the platform. */
export function untilStopped(): Promise<never> {
  return new Promise(() => undefined);
}
