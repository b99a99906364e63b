import type { SagaJournal } from '../journal/journal.js';
import { endKindOf, isTerminalSagaStatus, sagaStatuses } from '../journal/kinds.js';
import type { ClaimedStep } from '../journal/ports.js';
import type { TerminalSagaStatus } from '../journal/status.js';
import { broken, done, LEASE_MS, only, TAKE, type JournalWorld } from './journal-world.js';

type Open = () => Promise<JournalWorld>;

/** A run of `undoable` whose last undo is leased. */
async function lastUndo({ journal, begin }: JournalWorld): Promise<ClaimedStep> {
  const a = await begin('undoable');
  const b = only((await journal.append(a, done(), TAKE)).claimed);
  return only((await journal.append(b, broken, TAKE)).claimed);
}

async function expiringUndo(world: JournalWorld): Promise<ClaimedStep> {
  const { journal, begin, advance, fireDue } = world;
  const a = await begin('undoable');
  const b = only((await journal.append(a, done(), TAKE)).claimed);
  await advance(LEASE_MS - 1);
  await journal.heartbeat(b, 2 * LEASE_MS);
  await advance(LEASE_MS + 2);
  await fireDue();
  // The step that was cut off tells that it has stopped, before anything happened.
  const { claimed } = await journal.append(b, { kind: 'step_released', notStarted: true }, TAKE);
  return only(claimed);
}

async function endsWith(journal: SagaJournal, runId: string): Promise<unknown> {
  return (await journal.load(runId)).at(-1)?.kind;
}

/** J9, J11. */
export function describeEnds(open: Open): void {
  it.each([
    ['running', 'succeeded', ({ begin }: JournalWorld) => begin('one')],
    ['running', 'failed', ({ begin }: JournalWorld) => begin('one')],
    ['compensating', 'compensated', lastUndo],
    ['compensating', 'compensation_failed', lastUndo],
    ['compensating', 'expired', expiringUndo],
  ] as const)('J9: %s -> %s: writes that end and gives the lease back', async (_from, status, arrange) => {
    const world = await open();
    const { journal, other } = world;
    const step = await arrange(world);
    expect(await journal.markTerminal(step, status)).toBe(true);
    expect(await world.status(step.runId)).toBe(status);
    expect(await endsWith(journal, step.runId)).toBe(endKindOf(status));
    expect(await journal.heartbeat(step, LEASE_MS)).toBe('lost');
    expect(await other.claimPending({ limit: 10, leaseMs: LEASE_MS })).toEqual([]);
    expect(await journal.markTerminal(step, status)).toBe(false);
  });

  it('J9: running -> expired: only once the deadline of the run has passed', async () => {
    const { journal, begin, advance, status } = await open();
    const step = await begin('limited');
    await expect(journal.markTerminal(step, 'expired')).rejects.toMatchObject({ kind: 'invalid', code: 'END_INVALID' });
    await advance(LEASE_MS - 1);
    await journal.heartbeat(step, 2 * LEASE_MS);
    await advance(LEASE_MS + 2);
    expect(await journal.markTerminal(step, 'expired')).toBe(true);
    expect(await status(step.runId)).toBe('expired');
    expect(await endsWith(journal, step.runId)).toBe('saga_expired');
  });

  it('J9: (pending is a view) a run of which nothing is leased has no holder who could end it', async () => {
    const { journal, enqueue, begin, status } = await open();
    const runId = await enqueue('one');
    const held = await begin('one');
    expect(await journal.markTerminal({ ...held, runId }, 'failed')).toBe(false);
    expect(await status(runId)).toBe('pending');
  });

  it.each([
    ['running', 'compensated', (world: JournalWorld) => world.begin('one')],
    ['running', 'compensation_failed', (world: JournalWorld) => world.begin('one')],
    ['running', 'cancelled', (world: JournalWorld) => world.begin('one')],
    ['running, not at its last step', 'succeeded', (world: JournalWorld) => world.begin('line')],
    ['compensating', 'succeeded', lastUndo],
    ['compensating', 'failed', lastUndo],
    ['compensating, but not by its deadline', 'expired', lastUndo],
  ] as const)('J9: %s -> %s does not follow: refused, and nothing has changed', async (_from, status, arrange) => {
    const world = await open();
    const { journal } = world;
    const step = await arrange(world);
    const before = [await journal.load(step.runId), await world.status(step.runId)];
    await expect(journal.markTerminal(step, status)).rejects.toMatchObject({ kind: 'invalid', code: 'END_INVALID' });
    expect([await journal.load(step.runId), await world.status(step.runId)]).toEqual(before);
    expect(await journal.heartbeat(step, LEASE_MS)).toBe('ok');
  });

  it('J9: a run with something to undo does not end failed', async () => {
    const { journal, begin } = await open();
    const a = await begin('undoable');
    const b = only((await journal.append(a, done(), TAKE)).claimed);
    await expect(journal.markTerminal(b, 'failed')).rejects.toMatchObject({ code: 'END_INVALID' });
  });

  it.each(sagaStatuses.filter((status) => !isTerminalSagaStatus(status)))('J9: %s is no end', async (status) => {
    const { journal, begin } = await open();
    const step = await begin('one');
    const end = status as unknown as TerminalSagaStatus;
    await expect(journal.markTerminal(step, end)).rejects.toMatchObject({ kind: 'invalid', code: 'STATUS_INVALID' });
  });

  it('J11: how a run ended is read from its journal alone', async () => {
    const { journal, begin, status } = await open();
    for (const [sagaId, report] of [
      ['one', done()],
      ['one', broken],
    ] as const) {
      const step = await begin(sagaId);
      await journal.append(step, report);
      expect(await endsWith(journal, step.runId)).toBe(`saga_${await status(step.runId)}`);
    }
  });
}
