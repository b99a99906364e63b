import { randomUUID } from 'node:crypto';
import { eventually } from '@baton/testkit';
import type { Client } from 'pg';
import { createEventReader, type EventReader } from './events.js';
import { waitingFor } from './testing/locks.js';
import { MAJORS, storeFixture, type StoreFixture } from './testing/store-fixture.js';
import {
  completedTask,
  dispatchedTask,
  journalRow,
  newRunId,
  outboxRow,
  RUNNING,
  runWrite,
  startWrite,
  taskState,
} from './testing/writes.js';

describe.each(MAJORS)('the reader of events on PostgreSQL %i', (major) => {
  let fixture: StoreFixture;
  let reader: EventReader;
  let writer: Client;
  /** One for each test: transactions of other databases of the server hold the horizon back too. */
  let namespace: string;
  let start: string;

  beforeAll(async () => {
    fixture = await storeFixture(major, { library: true });
    reader = createEventReader({ url: fixture.url });
    writer = await fixture.connect();
  });
  afterAll(async () => {
    await reader.close();
    await fixture.close();
  });
  beforeEach(async () => {
    namespace = `n-${randomUUID()}`;
    start = await reader.head();
  });

  interface Told {
    readonly runId?: string;
    readonly runSeq?: number;
    readonly into?: string;
  }
  /** As a write inserts it, in whatever transaction the session has open. */
  const tell = (client: Client, type: string, { runId = newRunId(), runSeq = 1, into = namespace }: Told = {}) =>
    client.query(
      `INSERT INTO baton.outbox (id, aggregatetype, aggregateid, type, payload, run_id, run_seq, topic, shard, namespace,
         created_at) VALUES (gen_random_uuid(), 'run', $2::text, $1, '{}', $2::uuid, $3, 'topic', 1, $4, baton.now())`,
      [type, runId, runSeq, into],
    );
  const read = (cursor: string | null, limit = 100) => reader.read(namespace, cursor, limit);
  /** As soon as every transaction before them has ended. */
  const seen = (cursor: string | null, count: number) =>
    eventually(
      async () => {
        const page = await read(cursor);
        return page.events.length >= count ? page : undefined;
      },
      { what: `${count} event(s)` },
    );
  const types = (page: { readonly events: readonly { readonly type: string }[] }) =>
    page.events.map(({ type }) => type);

  it('P7, W16: never skips a row whose transaction commits late, though a higher one is long committed', async () => {
    const slow = await fixture.connect();
    await slow.query('BEGIN');
    await tell(slow, 'lower');
    await tell(writer, 'higher');
    const during = await read(start);
    expect(during.events).toEqual([]);
    await slow.query('COMMIT');
    const after = await seen(during.next, 2);
    expect(types(after)).toEqual(['lower', 'higher']);
    expect(types(await read(after.next))).toEqual([]);
  });

  it('P7, W16: nor one that began earlier and wrote later than the other', async () => {
    const slow = await fixture.connect();
    await slow.query('BEGIN');
    await slow.query('SELECT pg_current_xact_id()');
    await tell(writer, 'first row');
    await tell(slow, 'second row');
    const during = await read(start);
    await slow.query('COMMIT');
    expect(during.events).toEqual([]);
    expect(types(await seen(during.next, 2)).sort()).toEqual(['first row', 'second row']);
  });

  it('W16: holds up nobody: two transactions write at once, and one that rolls back leaves a gap', async () => {
    const one = await fixture.connect();
    const two = await fixture.connect();
    await one.query('BEGIN');
    await two.query('BEGIN');
    await two.query(`SET LOCAL lock_timeout = '1s'`);
    await tell(one, 'one');
    await tell(two, 'two');
    expect(types(await read(start))).toEqual([]);
    await two.query('COMMIT');
    await one.query('ROLLBACK');
    expect(types(await seen(start, 1))).toEqual(['two']);
  });

  it('J13: gives every event once, page by page, in one ascending order, with what was written', async () => {
    const runs = Array.from({ length: 5 }, () => newRunId());
    for (const runSeq of [1, 2, 3]) {
      for (const runId of runs) await tell(writer, `e${runSeq}`, { runId, runSeq });
    }
    await seen(start, 15);
    const pages: string[][] = [];
    let cursor = start;
    for (;;) {
      const page = await read(cursor, 4);
      cursor = page.next;
      if (page.events.length === 0) break;
      pages.push(page.events.map(({ runId, runSeq }) => `${runId} ${runSeq}`));
    }
    expect(pages.map((page) => page.length)).toEqual([4, 4, 4, 3]);
    expect(pages.flat()).toEqual([1, 2, 3].flatMap((runSeq) => runs.map((runId) => `${runId} ${runSeq}`)));
    const [first] = (await read(start, 1)).events;
    expect(first).toEqual({
      cursor: expect.any(String),
      id: expect.any(String),
      namespace,
      runId: runs[0],
      runSeq: 1,
      topic: 'topic',
      type: 'e1',
      payload: '{}',
      traceparent: null,
      at: expect.any(Date),
    });
    expect((await read(first!.cursor)).events).toHaveLength(14);
  });

  it('J13: reads nothing at the head and past it, all of it from null, and refuses what is not a cursor', async () => {
    await tell(writer, 'known');
    await seen(start, 1);
    expect(types(await read(await reader.head()))).toEqual([]);
    const past = '18446744073709551615-0';
    expect(await read(past)).toEqual({ events: [], next: past });
    expect(types(await read(null, 1_000_000))).toEqual(['known']);
    for (const bad of ['', 'x', '1', '1-2-3', '-1-0', '1-0 ']) await expect(read(bad)).rejects.toThrow(RangeError);
    for (const limit of [0, -1, 1.5, Number.NaN]) await expect(read(null, limit)).rejects.toThrow(RangeError);
  });

  it('R28: tells a namespace its own events alone, and passes by the others for good', async () => {
    const other = `n-${randomUUID()}`;
    await tell(writer, 'theirs', { into: other });
    await tell(writer, 'ours');
    await tell(writer, 'theirs', { into: other });
    const page = await seen(start, 1);
    expect(types(page)).toEqual(['ours']);
    const numberOf = (cursor: string) => BigInt(cursor.split('-')[0]!);
    expect(numberOf(page.next)).toBeGreaterThan(numberOf(page.events[0]!.cursor));
    expect(types(await reader.read(other, start, 10))).toContain('theirs');
  });

  /** A run with a business key and one task, told of by one event. */
  const startRun = async () => {
    const run = { namespace, runId: newRunId(), task: taskState() };
    const write = {
      namespace,
      tasks: [dispatchedTask(run.task)],
      journal: [journalRow(1)],
      outbox: [outboxRow(1, { type: 'e1' })],
    };
    const starts = [startWrite(run.runId, { route: 'local', businessKey: run.runId }, write)];
    await fixture.store.writeStarts({ batchId: randomUUID(), starts });
    return run;
  };

  it('keeps the order of a run through the commits of the engine', async () => {
    const run = await startRun();
    const report = runWrite(run.runId, 1, {
      namespace,
      run: { ...RUNNING, journalSeq: 3, outboxSeq: 3 },
      tasks: [completedTask(run.task)],
      outbox: [outboxRow(2, { type: 'e2' }), outboxRow(3, { type: 'e3' })],
    });
    await fixture.store.write({ batchId: randomUUID(), runs: [report] });
    const { events } = await seen(start, 3);
    expect(events.map(({ type, runSeq }) => [type, runSeq])).toEqual([
      ['e1', 1],
      ['e2', 2],
      ['e3', 3],
    ]);
  });

  it('W16: keeps it when a transaction that locks began first and came second', async () => {
    const first = await startRun();
    const second = await startRun();
    const [before, run] = first.runId < second.runId ? [first, second] : [second, first];
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1 FOR UPDATE', [before.runId]);

    // Has its number since it locked the keys, and waits for the first of its two runs.
    const slow = fixture.store.withLockedRuns(
      [before, run],
      async (session) => {
        const version = session.runs.get(run.runId)!.state.version;
        const outbox = [outboxRow(3, { type: 'e3' })];
        const write = runWrite(run.runId, version, { namespace, run: { ...RUNNING, outboxSeq: 3 }, outbox });
        return session.write({ batchId: randomUUID(), runs: [write] });
      },
      { keysFirst: true },
    );
    await waitingFor(fixture, 'run that the holder has');
    const younger = runWrite(run.runId, 1, {
      namespace,
      run: { ...RUNNING, outboxSeq: 2 },
      outbox: [outboxRow(2, { type: 'e2' })],
    });
    expect((await fixture.store.write({ batchId: randomUUID(), runs: [younger] })).held.size).toBe(1);
    await holder.query('ROLLBACK');
    expect((await slow).held.size).toBe(1);

    const { events } = await seen(start, 4);
    expect(events.filter(({ runId }) => runId === run.runId).map(({ type }) => type)).toEqual(['e1', 'e2', 'e3']);
  });
});
