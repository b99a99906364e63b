import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify, type ProcessIdentity } from '@baton/local-stack';
import { releaseLock, takeLock } from './lock.js';
import { layoutOf } from './layout.js';
import { readState, runningPlatform, writeState } from './state.js';

function self(): ProcessIdentity {
  const identity = identify(process.pid, '');
  if (identity === undefined) throw new Error('no identity');
  return identity;
}

describe('the lock of a development platform', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-lock-'));
    file = join(folder, 'up.lock');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is held by one, and names its holder to the next', () => {
    expect(takeLock(file, self())).toEqual({ kind: 'taken' });
    expect(takeLock(file, self())).toEqual({ kind: 'held', holder: self() });
    releaseLock(file, self());
    expect(takeLock(file, self())).toEqual({ kind: 'taken' });
  });

  it.each([
    ['whose holder is gone', JSON.stringify({ ...self(), startTime: 'earlier' })],
    ['that is empty', ''],
    ['that is not JSON', 'pid 7'],
    ['that holds a bare pid', '1'],
    ['that holds null', 'null'],
  ])('is taken over from a lock file %s', (_case, content) => {
    writeFileSync(file, content);
    expect(takeLock(file, self())).toEqual({ kind: 'taken' });
    expect(readdirSync(folder)).toEqual(['up.lock']);
  });
});

describe('the state file', () => {
  it('is read back, and counts only while its supervisor lives', () => {
    const home = mkdtempSync(join(tmpdir(), 'baton-state-'));
    try {
      const layout = layoutOf(home, home);
      const state = { supervisor: self(), phase: 'up', startedAt: '', processes: [] } as const;
      writeState(layout, state);
      expect(runningPlatform(layout)).toEqual(state);
      writeState(layout, { ...state, supervisor: { ...self(), startTime: 'earlier' } });
      expect(runningPlatform(layout)).toBeUndefined();
      expect(readState(layout)).toBeDefined();
      writeFileSync(layout.stateFile, '{}');
      expect(readState(layout)).toBeUndefined();
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});
