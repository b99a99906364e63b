import { spawn } from 'node:child_process';
import { endProcess, identify, isRunning } from './identity.js';

/** A process that lives until it is ended; `marker` shows in its command line. */
async function sleeper(marker: string, script = 'setInterval(() => {}, 1000)'): Promise<number> {
  const child = spawn(process.execPath, ['-e', `${script}; console.log('up')`, marker], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return child.pid ?? 0;
}

describe('a process identity', () => {
  it('recognises a live process and ends it', async () => {
    const identity = identify(await sleeper('marker-a'), 'marker-a');
    expect(identity && isRunning(identity)).toBe(true);
    expect(identity && (await endProcess(identity))).toBe('ended');
    expect(identity && isRunning(identity)).toBe(false);
    expect(identity && (await endProcess(identity))).toBe('was-gone');
  });

  it('never touches a process with the same pid but another start time or command', async () => {
    const pid = await sleeper('marker-b');
    const identity = identify(pid, 'marker-b');
    if (identity === undefined) throw new Error('the process is gone');
    expect(await endProcess({ ...identity, startTime: 'earlier' })).toBe('was-gone');
    expect(await endProcess({ ...identity, marker: 'another program' })).toBe('was-gone');
    expect(isRunning(identity)).toBe(true);
    await endProcess(identity);
  });

  it('kills a process that does not answer the signal', async () => {
    const pid = await sleeper('marker-c', `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`);
    const identity = identify(pid, 'marker-c');
    expect(identity && (await endProcess(identity, { graceMs: 100 }))).toBe('killed');
  });
});
