import { only, done, LEASE_MS, ONE, storyOf, TAKE, undone, broken, type JournalWorld } from './journal-world.js';

/** J5, J7, J8, J11. */
export function describeClaims(open: () => Promise<JournalWorld>): void {
  it('J5: an empty journal has nothing to claim', async () => {
    const { journal } = await open();
    expect(await journal.claimPending(ONE)).toEqual([]);
    expect(await journal.peekPending(10)).toEqual([]);
  });

  it('J5: a claim takes at most what was asked, the next one others, each with a lease of its own', async () => {
    const { journal, other, enqueue } = await open();
    const runIds = [await enqueue('line'), await enqueue('line'), await enqueue('line')];
    const first = await journal.claimPending({ limit: 2, leaseMs: LEASE_MS });
    const second = await other.claimPending({ limit: 2, leaseMs: LEASE_MS });
    expect([first.length, second.length]).toEqual([2, 1]);
    expect([...first, ...second].map(({ runId }) => runId).sort()).toEqual([...runIds].sort());
    expect(new Set([...first, ...second].map(({ leaseId }) => leaseId)).size).toBe(3);
  });

  it('J5: claims at once never take the same', async () => {
    const { journal, other, enqueue } = await open();
    for (let count = 0; count < 12; count += 1) await enqueue('one');
    const claims = await Promise.all(
      [journal, other, journal, other].map((claimer) => claimer.claimPending({ limit: 4, leaseMs: LEASE_MS })),
    );
    const taken = claims.flat().map(({ runId }) => runId);
    expect(new Set(taken).size).toBe(taken.length);
    // What a claim found locked it leaves to the next one.
    const rest = await journal.claimPending({ limit: 12, leaseMs: LEASE_MS });
    expect(new Set([...taken, ...rest.map(({ runId }) => runId)]).size).toBe(12);
  });

  it('J5: what has ended is never claimed', async () => {
    const { journal, begin } = await open();
    await journal.append(await begin('one'), done());
    expect(await journal.claimPending(ONE)).toEqual([]);
  });

  it.each([
    ['no step', { limit: 0, leaseMs: LEASE_MS }],
    ['a negative number', { limit: -1, leaseMs: LEASE_MS }],
    ['half a step', { limit: 1.5, leaseMs: LEASE_MS }],
    ['no time', { limit: 1, leaseMs: 0 }],
    ['a negative time', { limit: 1, leaseMs: -1 }],
  ])('J5: a claim for %s is refused', async (_what, batch) => {
    const { journal } = await open();
    await expect(journal.claimPending(batch)).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('J5: what a claim gives is a copy', async () => {
    const { journal, enqueue } = await open();
    await enqueue('line');
    const step = only(await journal.claimPending(ONE));
    const leaseId = step.leaseId;
    Object.assign(step, { leaseId: 'another', attempt: 9 });
    expect(await journal.append({ ...step, leaseId, attempt: 1 }, done(), TAKE)).toMatchObject({ status: 'running' });
  });

  it('J5: who looks leases nothing; who then takes exactly that, has it, and nobody a second time', async () => {
    const { journal, other, enqueue } = await open();
    const runId = await enqueue('line');
    const peek = only(await journal.peekPending(10));
    expect(peek).toMatchObject({ runId, sagaId: 'line', sagaVersion: 1, attempt: 1 });
    const theirs = only(await other.peekPending(10));
    const step = await journal.claimOne(peek, LEASE_MS);
    expect(step).toMatchObject({ runId, nodeId: 'a', kind: 'forward', handler: 'a' });
    expect(await other.claimOne(theirs, LEASE_MS)).toBeNull();
    expect(JSON.parse(step?.input ?? 'null')).toEqual({ input: { n: 1 }, outputs: {} });
    expect(step === null ? null : await journal.append(step, done())).toMatchObject({ applied: true });
  });

  it('J7: a heartbeat carries a lease beyond its first end', async () => {
    const { journal, begin, advance, fireDue } = await open();
    const step = await begin('one');
    await advance(20_000);
    expect(await journal.heartbeat(step, LEASE_MS)).toBe('ok');
    await advance(20_000);
    await fireDue();
    expect(await journal.append(step, done())).toMatchObject({ applied: true, status: 'succeeded' });
  });

  it('J7: a heartbeat for no time is refused', async () => {
    const { journal, begin } = await open();
    await expect(journal.heartbeat(await begin('one'), 0)).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('J8: at the very instant of its end a lease still holds: append', async () => {
    const { journal, other, begin, advance } = await open();
    const step = await begin('one');
    await advance(LEASE_MS);
    expect(await other.claimPending(ONE)).toEqual([]);
    expect(await journal.append(step, done())).toMatchObject({ applied: true });
  });

  it('J8: at the very instant of its end a lease still holds: heartbeat', async () => {
    const { journal, other, begin, advance, fireDue } = await open();
    const step = await begin('one');
    await advance(LEASE_MS);
    expect(await journal.heartbeat(step, LEASE_MS)).toBe('ok');
    await fireDue();
    expect(await other.claimPending(ONE)).toEqual([]);
    expect(await journal.append(step, done())).toMatchObject({ applied: true });
  });

  it('J8: after its end it is gone, as soon as that is decided', async () => {
    const { journal, other, begin, advance, fireDue } = await open();
    const step = await begin('one');
    await advance(LEASE_MS + 1);
    expect(await journal.heartbeat(step, LEASE_MS)).toBe('lost');
    await fireDue();
    expect(only(await other.claimPending(ONE))).toMatchObject({ runId: step.runId, attempt: 2 });
  });

  it('J11: after a handover the old holder is fenced and the new one goes on', async () => {
    const { journal, other, begin, advance, fireDue } = await open();
    const step = await begin('line');
    await advance(LEASE_MS + 1);
    await fireDue();
    const taken = only(await other.claimPending(ONE));
    await expect(journal.append(step, done())).rejects.toMatchObject({ code: 'STALE_LEASE' });
    expect(await journal.markTerminal(step, 'failed')).toBe(false);
    expect(await other.append(taken, done(), TAKE)).toMatchObject({ status: 'running', claimed: [{ nodeId: 'b' }] });
  });

  it('J11: also in the middle of an undo: the next holder finds it compensating, and finishes', async () => {
    const { journal, other, begin, advance, fireDue, status } = await open();
    const a = await begin('undoable');
    const b = only((await journal.append(a, done(), TAKE)).claimed);
    const c = only((await journal.append(b, done(), TAKE)).claimed);
    const undoB = only((await journal.append(c, broken, TAKE)).claimed);
    const undoA = only((await journal.append(undoB, undone, TAKE)).claimed);
    await advance(LEASE_MS + 1);
    await fireDue();
    expect(await status(a.runId)).toBe('compensating');
    const taken = only(await other.claimPending(ONE));
    expect(taken).toMatchObject({ kind: 'compensate', nodeId: 'a' });
    await expect(journal.append(undoA, undone)).rejects.toMatchObject({ code: 'STALE_LEASE' });
    expect(await other.append(taken, undone)).toMatchObject({ status: 'compensated' });
    expect(await storyOf(other, a.runId)).toEqual([
      ...['step_completed a', 'step_completed b', 'step_failed c', 'compensation_started'],
      ...['step_compensated b', 'step_compensated a', 'saga_compensated'],
    ]);
  });
}
