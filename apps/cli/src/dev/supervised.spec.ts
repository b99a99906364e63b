import type { ExitInfo } from '@baton/local-stack';
import { Supervised, type Launched } from './supervised.js';

const BACKOFF = { firstMs: 1, longestMs: 4, healthyMs: 60_000 };

interface FakeProcess extends Launched {
  end(exit: ExitInfo): void;
}

function fakeProcess(): FakeProcess {
  let end: (exit: ExitInfo) => void = () => undefined;
  const exited = new Promise<ExitInfo>((resolve) => (end = resolve));
  const stop = async (): Promise<void> => end({ code: 0, signal: null });
  return { identity: { pid: 1, startTime: '', marker: '' }, exited, stop, end };
}

describe('a supervised process', () => {
  it('is started again after a crash, with growing waits', async () => {
    const processes = [fakeProcess(), fakeProcess(), fakeProcess(), fakeProcess()];
    const crashes: [string, number][] = [];
    let started = 0;
    const allStarted = new Promise<void>((resolve) => {
      const supervised = new Supervised({
        name: 'service',
        launch: async () => processes[started++] ?? fakeProcess(),
        onStarted: (launched, restarts) => {
          if (restarts < 3) (launched as FakeProcess).end({ code: 1, signal: null });
          else void supervised.stop(0).then(resolve);
        },
        onCrashed: (description, retryMs) => crashes.push([description, retryMs]),
        backoff: BACKOFF,
      });
      void supervised.start();
    });
    await allStarted;
    expect(crashes).toEqual([
      ['ended with exit code 1', 1],
      ['ended with exit code 1', 2],
      ['ended with exit code 1', 4],
    ]);
  });

  it('is tried again when a restart fails', async () => {
    const crashes: string[] = [];
    let attempts = 0;
    await new Promise<void>((resolve) => {
      const supervised = new Supervised({
        name: 'service',
        launch: async () => {
          attempts += 1;
          if (attempts === 2) throw new Error('the port is taken');
          return fakeProcess();
        },
        onStarted: (launched, restarts) => {
          if (restarts === 0) (launched as FakeProcess).end({ code: null, signal: 'SIGKILL' });
          else void supervised.stop(0).then(resolve);
        },
        onCrashed: (description) => crashes.push(description),
        backoff: BACKOFF,
      });
      void supervised.start();
    });
    expect(crashes).toEqual(['was ended by SIGKILL', 'could not be started again: the port is taken']);
  });

  it('fails to its caller when the first start fails', async () => {
    const supervised = new Supervised({
      name: 'service',
      launch: () => Promise.reject(new Error('not built')),
      onStarted: () => undefined,
      onCrashed: () => undefined,
    });
    await expect(supervised.start()).rejects.toThrow('not built');
  });

  it('is stopped when the stop came during its start', async () => {
    const process = fakeProcess();
    let release: (launched: Launched) => void = () => undefined;
    const supervised = new Supervised({
      name: 'service',
      launch: () => new Promise<Launched>((resolve) => (release = resolve)),
      onStarted: () => undefined,
      onCrashed: () => undefined,
    });
    const starting = supervised.start();
    await supervised.stop(0);
    release(process);
    await starting;
    expect(await process.exited).toEqual({ code: 0, signal: null });
  });
});
