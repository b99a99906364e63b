import { pollUntil, spawnServer } from '@baton/local-stack';
import { logFileOf, type Layout } from './layout.js';
import { readState } from './state.js';

/** Tells the process in the background that nobody can press Ctrl-C there. */
export const BACKGROUND_FLAG = '--background';

/**
 * Starts `up` in the background and shows what it prints until it is up. Returns the exit code: that of the
 * background process when it ends before.
 */
export async function upDetached(layout: Layout, flags: readonly string[]): Promise<number> {
  const script = process.argv[1] ?? '';
  const logFile = logFileOf(layout, 'up');
  const supervisor = await spawnServer({
    command: process.execPath,
    args: [script, 'up', BACKGROUND_FLAG, ...flags],
    logFile,
    marker: script,
    cwd: layout.project,
    env: process.env,
  });
  let shown = 0;
  const show = (): void => {
    const output = supervisor.output();
    process.stdout.write(output.slice(shown));
    shown = output.length;
  };
  const code = await pollUntil<number>(
    () => {
      const exit = supervisor.exitInfo();
      const isUp = readState(layout)?.supervisor.pid === supervisor.pid && readState(layout)?.phase === 'up';
      show();
      if (exit !== undefined) return exit.code ?? 1;
      return isUp ? 0 : undefined;
    },
    { timeoutMs: Infinity, intervalMs: 100 },
  );
  show();
  supervisor.detach();
  return code ?? 1;
}
