import type { StepReport } from '../journal/ports.js';
import {
  broken,
  done,
  LEASE_MS,
  newInstance,
  only,
  ONE,
  storyOf,
  TAKE,
  undone,
  UNKNOWN_RUN,
  withLease,
  type JournalWorld,
} from './journal-world.js';

const TERMINAL = { kind: 'saga_succeeded' } as unknown as StepReport;
const UNSTORABLE: readonly (readonly [string, StepReport])[] = [
  ['an output that is no JSON', done('{"a":')],
  ['an output of 5 MB', done(JSON.stringify('x'.repeat(5_000_000)))],
  ['an output with a NUL', done('"\u0000"')],
  ['an end', TERMINAL],
  ['a kind that is none', { kind: 'nothing' } as unknown as StepReport],
  ['the begin of an undo', { kind: 'compensation_started' } as unknown as StepReport],
];

/** J2 to J4, J6, J10. */
export function describeAppends(open: () => Promise<JournalWorld>): void {
  it('J2: what is appended is read back in order, from 1 and without gaps', async () => {
    const { journal, begin } = await open();
    const first = await begin('line');
    const { applied, status, claimed } = await journal.append(first, done(), TAKE);
    expect([applied, status]).toEqual([true, 'running']);
    const last = await journal.append(only(claimed), done(), TAKE);
    await journal.append(only(last.claimed), done());
    const events = await journal.load(first.runId);
    expect(events.map(({ version }) => version)).toEqual(events.map((_, index) => index + 1));
    expect(await storyOf(journal, first.runId)).toEqual([
      ...['step_completed a', 'step_completed b', 'step_completed c', 'saga_succeeded'],
    ]);
  });

  it('J2: appends at once to one run get versions of their own', async () => {
    const { journal } = await open();
    const { runId, claimed } = await journal.enqueue(newInstance('wide'), { max: 8, leaseMs: LEASE_MS });
    expect(claimed).toHaveLength(8);
    await Promise.all(claimed.map((step) => journal.append(step, done())));
    const events = await journal.load(runId);
    expect(events.map(({ version }) => version)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(({ kind }) => kind === 'step_completed')).toHaveLength(8);
  });

  it('J2: the same report again is known, and nothing new happens', async () => {
    const { journal, begin } = await open();
    const step = await begin('line');
    await journal.append(step, done());
    const before = await journal.load(step.runId);
    expect(await journal.append(step, done())).toMatchObject({ applied: false, claimed: [] });
    expect(await journal.load(step.runId)).toEqual(before);
  });

  it.each(UNSTORABLE)('J3: %s is refused, and nothing has changed', async (_what, report) => {
    const { journal, begin } = await open();
    const step = await begin('one');
    const before = await journal.load(step.runId);
    await expect(journal.append(step, report)).rejects.toMatchObject({ kind: 'invalid' });
    expect(await journal.load(step.runId)).toEqual(before);
    await journal.append(step, done());
    expect((await storyOf(journal, step.runId)).at(-1)).toBe('saga_succeeded');
  });

  it.each(['[1,2]', '"text"', '7', 'null'])('J3: (any JSON is an output) %s is one', async (output) => {
    const { journal, begin } = await open();
    expect(await journal.append(await begin('one'), done(output))).toMatchObject({ status: 'succeeded' });
  });

  it.each(UNSTORABLE)('J4: an unknown run is told before %s', async (_what, report) => {
    const { journal, begin } = await open();
    const step = { ...(await begin('one')), runId: UNKNOWN_RUN };
    await expect(journal.append(step, report)).rejects.toMatchObject({ kind: 'not-found' });
  });

  it.each(UNSTORABLE)('J4: a stale lease is told before %s', async (_what, report) => {
    const { journal, begin } = await open();
    const step = withLease(await begin('one'));
    await expect(journal.append(step, report)).rejects.toMatchObject({ kind: 'conflict', code: 'STALE_LEASE' });
  });

  it('J6: who has not the lease is refused by append, and heartbeat and end answer no', async () => {
    const { journal, begin } = await open();
    const step = await begin('one');
    const before = await journal.load(step.runId);
    for (const stale of [withLease(step), withLease(step, 'no id'), { ...step, attempt: 2 }]) {
      await expect(journal.append(stale, done())).rejects.toMatchObject({ kind: 'conflict', code: 'STALE_LEASE' });
      expect(await journal.heartbeat(stale, LEASE_MS)).toBe('lost');
      expect(await journal.markTerminal(stale, 'succeeded')).toBe(false);
    }
    expect(await journal.load(step.runId)).toEqual(before);
  });

  it('J6: of an unknown run append says that it is not found; heartbeat and end answer no', async () => {
    const { journal, begin } = await open();
    for (const runId of [UNKNOWN_RUN, 'no id']) {
      const step = { ...(await begin('one')), runId };
      await expect(journal.append(step, done())).rejects.toMatchObject({ kind: 'not-found', code: 'NOT_FOUND' });
      expect(await journal.heartbeat(step, LEASE_MS)).toBe('lost');
      expect(await journal.markTerminal(step, 'succeeded')).toBe(false);
    }
  });

  it('J6: a run that has ended knows no lease any more', async () => {
    const { journal, begin } = await open();
    const step = await begin('one');
    await journal.append(step, done());
    await expect(journal.append(step, broken)).rejects.toMatchObject({ code: 'STALE_LEASE' });
    expect(await journal.heartbeat(step, LEASE_MS)).toBe('lost');
    expect(await journal.markTerminal(step, 'succeeded')).toBe(false);
  });

  it('J10: a first result makes a run go: completed', async () => {
    const { journal, begin, enqueue, status } = await open();
    expect(await status(await enqueue('line'))).toBe('pending');
    const step = await begin('line');
    await journal.append(step, done());
    expect(await status(step.runId)).toBe('running');
  });

  it('J10: a first result makes a run go: failed, to be tried again', async () => {
    const { journal, begin, status } = await open();
    const step = await begin('retried');
    const failure = { code: 'LATER', message: 'not yet' };
    await journal.append(step, { kind: 'step_failed', failure, retryable: true });
    expect(await status(step.runId)).toBe('running');
  });

  it('J10: an undo begins by a failure, never by word, and not for a run that has not begun', async () => {
    const { journal, enqueue, begin, status } = await open();
    const started = { kind: 'compensation_started' } as unknown as StepReport;
    const pending = await enqueue('undoable');
    const step = await begin('undoable');
    await expect(journal.append(step, started)).rejects.toMatchObject({ kind: 'invalid' });
    expect([await status(pending), await status(step.runId)]).toEqual(['pending', 'running']);
    const next = only((await journal.append(step, done(), TAKE)).claimed);
    expect(await journal.append(next, broken)).toMatchObject({ status: 'compensating' });
    expect((await storyOf(journal, step.runId)).slice(-1)).toEqual(['compensation_started']);
  });

  it('J10: no forward result counts while the run is undone, and no undo while it goes forward', async () => {
    const { journal, begin } = await open();
    const step = await begin('undoable');
    const undoFailed: StepReport = { ...broken, kind: 'step_compensation_failed' } as StepReport;
    for (const report of [undone, undoFailed]) {
      await expect(journal.append(step, report)).rejects.toMatchObject({ kind: 'invalid', code: 'PHASE_INVALID' });
    }
    const next = only((await journal.append(step, done(), TAKE)).claimed);
    const undo = only((await journal.append(next, broken, TAKE)).claimed);
    expect([undo.kind, undo.nodeId]).toEqual(['compensate', 'a']);
    for (const report of [done(), broken]) {
      await expect(journal.append(undo, report)).rejects.toMatchObject({ kind: 'invalid', code: 'PHASE_INVALID' });
    }
    expect(await journal.append(undo, undone)).toMatchObject({ status: 'compensated' });
  });

  it('J10: the phase of a lease is known to a process that did not take it, too', async () => {
    const { other, begin } = await open();
    const step = await begin('undoable');
    await expect(other.append(step, undone)).rejects.toMatchObject({ code: 'PHASE_INVALID' });
  });

  it('P1, J6: a stale append is told as one, with no error of the database behind it', async () => {
    const { journal, other, begin, advance, fireDue } = await open();
    const step = await begin('one');
    await advance(LEASE_MS + 1);
    await fireDue();
    const theirs = only(await other.claimPending(ONE));
    const refusal = await journal.append(step, done()).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: 'SagaError', code: 'STALE_LEASE' });
    expect((refusal as Error).cause).toBeUndefined();
    await other.append(theirs, done());
  });
}
