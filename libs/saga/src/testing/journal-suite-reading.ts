import { v7 } from 'uuid';
import { sagaEventKinds } from '../journal/kinds.js';
import type { NewInstance } from '../journal/ports.js';
import { done, eventsOf, newInstance, TAKE, UNKNOWN_RUN, type JournalWorld } from './journal-world.js';

/** J1, J12, J13. */
export function describeReading(open: () => Promise<JournalWorld>): void {
  it('J1: (its start is an entry: W14) an enqueued run is there at once, pending, and nothing of the contract has happened', async () => {
    const { journal, enqueue, status } = await open();
    const runId = await enqueue('line');
    const events = await journal.load(runId);
    expect(events[0]).toMatchObject({ version: 1, kind: 'run.started' });
    expect(events.filter(({ kind }) => (sagaEventKinds as readonly string[]).includes(kind))).toEqual([]);
    expect(await status(runId)).toBe('pending');
  });

  it('J1: an unknown run is not found, whatever its id looks like', async () => {
    const { journal } = await open();
    await expect(journal.load(UNKNOWN_RUN)).rejects.toMatchObject({ kind: 'not-found' });
    await expect(journal.load('no id')).rejects.toMatchObject({ kind: 'not-found' });
  });

  it('J1: an id that is taken is a conflict, and the run that has it is as it was', async () => {
    const { journal, enqueue, other } = await open();
    const runId = await enqueue('line', { runId: v7() });
    const before = await journal.load(runId);
    const again = { ...newInstance('line'), runId };
    await expect(other.enqueue(again)).rejects.toMatchObject({ kind: 'conflict', code: 'DUPLICATE_INSTANCE' });
    await expect(other.enqueue({ ...again, input: '{"n":2}' })).rejects.toMatchObject({ kind: 'conflict' });
    expect(await journal.load(runId)).toEqual(before);
  });

  it('J1: the same key starts one run, and says that it did before', async () => {
    const { journal, other } = await open();
    const instance = { ...newInstance('line'), idempotencyKey: 'order-1' };
    const first = await journal.enqueue(instance, TAKE);
    const second = await other.enqueue(instance, TAKE);
    expect([first.created, second.created, second.runId]).toEqual([true, false, first.runId]);
    expect(second.claimed).toEqual([]);
  });

  it.each([
    ['status', 'running'],
    ['currentStep', 2],
    ['startedAt', 0],
  ])('J1: a new run cannot say its own %s', async (field, value) => {
    const { journal } = await open();
    const instance = { ...newInstance('line'), [field]: value } as NewInstance;
    await expect(journal.enqueue(instance)).rejects.toMatchObject({ kind: 'invalid', code: 'FIELD_UNKNOWN' });
  });

  it('J12: a journal that is in order is ready', async () => {
    const { journal } = await open();
    await expect(journal.repoReady()).resolves.toBeUndefined();
  });

  it('J13: an empty journal has no head and no events', async () => {
    const { journal } = await open();
    expect(await journal.head()).toBeNull();
    expect(await journal.loadSince(null, 10)).toEqual([]);
  });

  it('J13: (positions have gaps: W16) all runs are in one order, page by page, with whose they are', async () => {
    const { journal, begin } = await open();
    for (const sagaId of ['one', 'line', 'one']) await journal.append(await begin(sagaId), done());
    const all = await eventsOf(journal, 8);
    expect(all.map(({ type }) => type)).toEqual([
      ...['saga.one.started', 'saga.one.step_completed', 'saga.one.succeeded'],
      ...['saga.line.started', 'saga.line.step_completed'],
      ...['saga.one.started', 'saga.one.step_completed', 'saga.one.succeeded'],
    ]);
    const paged: unknown[] = [];
    const sizes: number[] = [];
    for (let after: string | null = null; ;) {
      const page = await journal.loadSince(after, 3);
      sizes.push(page.length);
      paged.push(...page);
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.cursor;
    }
    expect(paged).toEqual(all);
    expect(sizes).toEqual([3, 3, 2, 0]);
    expect(new Set(all.map(({ eventId }) => eventId)).size).toBe(all.length);
    for (const { runId, payload } of all) expect(JSON.parse(payload)).toMatchObject({ instanceId: runId });
  });

  it('J13: an event of the reader is the entry of the journal: its position within the run is that of the event', async () => {
    const { journal, begin } = await open();
    const step = await begin('one');
    await journal.append(step, done());
    const events = await eventsOf(journal, 3);
    expect(events.map(({ runSeq }) => runSeq)).toEqual([1, 2, 3]);
    const told = events.map(({ payload }) => (JSON.parse(payload) as { version: number }).version);
    const entries = (await journal.load(step.runId)).filter(({ kind }) =>
      ['run.started', 'step_completed', 'saga_succeeded'].includes(kind),
    );
    expect(told).toEqual(entries.map(({ version }) => version));
  });

  it('J13: at the head and past it there is nothing, and a limit may be as large as a number can be', async () => {
    const { journal, begin } = await open();
    await journal.append(await begin('one'), done());
    await eventsOf(journal, 3);
    const head = await journal.head();
    expect(await journal.loadSince(head, 10)).toEqual([]);
    expect(await journal.loadSince(null, Number.MAX_SAFE_INTEGER)).toHaveLength(3);
    await journal.append(await begin('one'), done());
    await eventsOf(journal, 6);
    expect(await journal.loadSince(head, 10)).toHaveLength(3);
  });

  it.each([
    ['no limit', null, 0],
    ['a negative limit', null, -1],
    ['half an event', null, 0.5],
    ['a cursor that is none', 'first', 1],
    ['a negative cursor', '-1-0', 1],
  ])('J13: %s is refused', async (_what, after, limit) => {
    const { journal } = await open();
    await expect(journal.loadSince(after, limit)).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('J13: what a reader is given is its own', async () => {
    const { journal, begin } = await open();
    await journal.append(await begin('one'), done());
    await eventsOf(journal, 3);
    const [first] = await journal.loadSince(null, 1);
    first?.createdAt.setTime(0);
    const [again] = await journal.loadSince(null, 1);
    expect(again?.createdAt.getTime()).not.toBe(0);
  });

  it('J13: (distinct and in order, with gaps: W16) events of appends at once are each there once', async () => {
    const { journal, begin } = await open();
    const steps = await Promise.all(Array.from({ length: 8 }, () => begin('one')));
    await Promise.all(steps.map((step) => journal.append(step, done())));
    const events = await eventsOf(journal, 24);
    expect(events).toHaveLength(24);
    expect(new Set(events.map(({ cursor }) => cursor)).size).toBe(24);
    for (const { runId } of steps) {
      expect(events.filter((event) => event.runId === runId).map(({ runSeq }) => runSeq)).toEqual([1, 2, 3]);
    }
  });
}
