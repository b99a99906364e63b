import type { LeaderGate } from '../runtime/parts.js';
import { fakeClock } from '../testing/fake-clock.js';
import { recordingLogger } from '../testing/steps.js';
import { inProcessLocker } from './in-process-locker.js';
import { RunLeaderGate, type LeaderGateParts } from './leader-gate.js';
import { lockKey } from './lock-key.js';
import type { Locker } from './locker.js';

const run = { runId: 'run-1', sagaId: 'order' };

function gateOf(parts: Partial<LeaderGateParts>) {
  const logger = recordingLogger();
  const leaderSkip = jest.fn();
  const gate: LeaderGate = new RunLeaderGate({
    locker: undefined,
    ttlMs: 30_000,
    logger,
    observer: { leaderSkip },
    ...parts,
  });
  return { gate, logger, leaderSkip };
}

describe('the gate of a leader', () => {
  it('L1: refuses a locker that is null or none, and a lease below a millisecond where there is one', () => {
    for (const locker of [null, {}, 'postgres']) {
      expect(() => gateOf({ locker: locker as never })).toThrow(
        expect.objectContaining({ kind: 'invalid', code: 'PART_MISSING' }) as Error,
      );
    }
    const locker = inProcessLocker({ clock: fakeClock() });
    expect(() => gateOf({ locker, ttlMs: 0.5 })).toThrow(
      expect.objectContaining({ code: 'LOCK_TTL_TOO_SHORT' }) as Error,
    );
    expect(() => gateOf({ ttlMs: 0.5 })).not.toThrow();
  });

  it('L2: always leads without a locker, and both ends can be called', async () => {
    const { gate } = gateOf({});
    const lead = await gate.acquireLead(run);
    await lead?.release();
    lead?.orphan();
    expect(await gate.acquireLead(run)).not.toBeNull();
    expect(gate.mode).toBe('unsafe_no_leader');
  });

  it('L3: one process leads a run; the next one after its release', async () => {
    const locker = inProcessLocker({ clock: fakeClock() });
    const [first, second] = [gateOf({ locker }), gateOf({ locker })];
    expect(first.gate.mode).toBe('leader_elect');
    const lead = await first.gate.acquireLead(run);
    expect(await second.gate.acquireLead(run)).toBeNull();
    expect(await second.gate.acquireLead({ ...run, runId: 'run-2' })).not.toBeNull();
    await lead?.release();
    await lead?.release();
    expect(await second.gate.acquireLead(run)).not.toBeNull();
  });

  it.each<[string, Locker['acquire'], boolean, string, string]>([
    ['somebody else leads', () => Promise.resolve(null), false, 'contended', 'debug'],
    ['the backend cannot tell', () => Promise.reject(new TypeError('secret')), false, 'backend_error', 'warn'],
    ['the runtime stops', () => Promise.reject(new Error('closed')), true, 'ctx_canceled', 'debug'],
  ])('L5: %s: the run is left to others, with one reason for log and metric', async (...row) => {
    const [, acquire, stopping, reason, level] = row;
    const { gate, logger, leaderSkip } = gateOf({ locker: { acquire }, isStopping: () => stopping });
    expect(await gate.acquireLead(run)).toBeNull();
    expect(leaderSkip.mock.calls).toEqual([[{ ...run, reason }]]);
    expect(logger.lines).toMatchObject([{ level, fields: { run_id: 'run-1', saga_id: 'order', reason } }]);
    expect(JSON.stringify(logger.lines)).not.toMatch(/secret/);
  });

  it('L5: a release that fails is a warning, never an error of the drive', async () => {
    const lock = { ended: new AbortController().signal, end: null, orphan: () => undefined };
    const release = () => Promise.reject(new Error('secret'));
    const { gate, logger } = gateOf({ locker: { acquire: () => Promise.resolve({ ...lock, release }) } });
    const lead = await gate.acquireLead(run);
    await expect(lead?.release()).resolves.toBeUndefined();
    expect(logger.lines).toMatchObject([{ level: 'warn', fields: { error: 'Error' } }]);
  });

  it('L6: two runs never share a key, whatever their ids hold', () => {
    expect(lockKey(run)).toBe('saga:5:order:run-1');
    const pairs = [
      ['a:b', 'c'],
      ['a', 'b:c'],
      ['1:a', 'b'],
      ['a', '1:b'],
      ['', 'a:b:c'],
      ['a:b:c', ''],
    ].map(([sagaId = '', runId = '']) => lockKey({ sagaId, runId }));
    expect(new Set(pairs).size).toBe(pairs.length);
  });
});
