import type { ProcessIdentity } from '@baton/local-stack';
import { findLeftovers } from './leftovers.js';
import type { PlatformState } from './state.js';

function identity(pid: number): ProcessIdentity {
  return { pid, startTime: `t${pid}`, marker: 'm' };
}

const NO_SERVERS = { postgres: undefined, kafka: undefined };

function stateWith(...names: readonly string[]): PlatformState {
  return {
    supervisor: identity(1),
    phase: 'up',
    startedAt: '2026-01-01T00:00:00.000Z',
    processes: names.map((name, index) => ({ name, identity: identity(10 + index), restarts: 0, logFile: '' })),
  };
}

describe('what a killed "up" left behind', () => {
  it('is every recorded process that is still the same one', () => {
    const alive = (process: ProcessIdentity): boolean => process.pid !== 11;
    const leftovers = findLeftovers(stateWith('postgres', 'coordinator', 'kafka'), NO_SERVERS, alive);
    expect(leftovers.map(({ name }) => name)).toEqual(['postgres', 'kafka']);
  });

  it('includes servers that were killed with the supervisor before they were recorded', () => {
    const servers = { postgres: identity(20), kafka: identity(21) };
    expect(findLeftovers(undefined, servers, () => true)).toEqual([
      { name: 'postgres', identity: identity(20) },
      { name: 'kafka', identity: identity(21) },
    ]);
  });

  it('names a server once, recorded or not', () => {
    const servers = { postgres: identity(10), kafka: undefined };
    expect(findLeftovers(stateWith('postgres'), servers, () => true)).toHaveLength(1);
  });

  it('is nothing on a clean machine', () => {
    expect(findLeftovers(undefined, NO_SERVERS)).toEqual([]);
  });
});
