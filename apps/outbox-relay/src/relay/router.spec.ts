import fc from 'fast-check';
import { MAX_BATCH_ROWS, type LaneContext } from './lane.js';
import type { OutboxRow } from './outbox-row.js';
import { SessionOver, type Guard } from './patience.js';
import type { DeadReason, Entry } from './publishing.js';
import { Router } from './router.js';
import { FakeProducer, type Outcome } from './testing/fake-producer.js';

const topic = 'baton.default.tasks.orders';

class Bench {
  readonly ending = new AbortController();
  readonly dead: { readonly id: string; readonly reason: DeadReason }[] = [];
  readonly settled: string[] = [];
  readonly failures: unknown[] = [];
  readonly router: Router;

  constructor(readonly producer: FakeProducer) {
    const guard: Guard = {
      signal: this.ending.signal,
      check: () => {
        if (this.ending.signal.aborted) throw new SessionOver('over');
      },
    };
    const context: LaneContext = {
      producer,
      layout: { partitions: 1, replicationFactor: 1 },
      guard,
      partitions: (_topic, present) => present,
      hooks: { published: () => undefined, retried: () => undefined, died: () => undefined },
      bury: (entry, reason) => {
        this.dead.push({ id: entry.row.id, reason });
        return Promise.resolve();
      },
      failed: (error) => this.failures.push(error),
    };
    this.router = new Router(context);
  }

  publish(row: Partial<OutboxRow> & { readonly id: string }): void {
    this.router.publish(this.entry(row));
  }

  async allSettled(count: number): Promise<void> {
    while (this.settled.length < count) await new Promise((resolve) => setTimeout(resolve, 1));
  }

  get storedIds(): (string | undefined)[] {
    return this.producer.stored.map(({ message }) => message.headers['id']);
  }

  private entry(row: Partial<OutboxRow> & { readonly id: string }): Entry {
    const whole: OutboxRow = {
      runId: 'run',
      runSeq: BigInt(row.id),
      namespace: 'default',
      topic,
      type: 'task.dispatched',
      payload: Buffer.from('{}'),
      traceparent: null,
      headers: null,
      ...row,
    };
    return { row: whole, commitLsn: 1n, settle: () => this.settled.push(row.id) };
  }
}

const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));
const firsts = (all: readonly (string | undefined)[]): (string | undefined)[] => [...new Set(all)];

describe('A lane', () => {
  it('sends what is queued meanwhile as the next batch, one request at a time', async () => {
    const bench = new Bench(new FakeProducer());
    for (const id of ids(1200)) bench.publish({ id });
    await bench.allSettled(1200);
    expect(bench.storedIds).toEqual(ids(1200));
    expect(bench.producer.mostInFlight).toBe(1);
    expect(Math.max(...bench.producer.batches)).toBe(MAX_BATCH_ROWS);
    expect(bench.producer.batches.length).toBeLessThanOrEqual(4);
  });

  it('closes a batch before it passes 512 KiB, and sends a bigger row alone', async () => {
    const bench = new Bench(new FakeProducer());
    for (const id of ids(3)) bench.publish({ id, payload: Buffer.alloc(300 * 1024) });
    bench.publish({ id: '3', payload: Buffer.alloc(900 * 1024) });
    await bench.allSettled(4);
    expect(bench.producer.batches).toEqual([1, 1, 1, 1]);
  });

  it('R31, O3: keeps the order of first occurrences under any failures (L3)', async () => {
    const outcome: fc.Arbitrary<Outcome> = fc.oneof(
      { weight: 3, arbitrary: fc.constant({ kind: 'stored' as const }) },
      fc.constant({ kind: 'stored-but-failed' as const }),
      fc.constant({ kind: 'failed' as const, as: 'retry' as const }),
      fc.constant({ kind: 'failed' as const, as: 'unknown-topic' as const }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(outcome, { maxLength: 4 }), fc.integer({ min: 1, max: 30 }), async (outcomes, rows) => {
        const script = [...outcomes];
        const bench = new Bench(new FakeProducer(() => script.shift() ?? { kind: 'stored' }));
        for (const id of ids(rows)) bench.publish({ id });
        await bench.allSettled(rows);
        expect(firsts(bench.storedIds)).toEqual(ids(rows));
        expect(bench.settled).toEqual(ids(rows));
      }),
      { numRuns: 40 },
    );
  });

  it('makes a topic that was deleted again', async () => {
    let calls = 0;
    const bench = new Bench(
      new FakeProducer(() => (calls++ === 0 ? { kind: 'failed', as: 'unknown-topic' } : { kind: 'stored' })),
    );
    bench.publish({ id: '0' });
    await bench.allSettled(1);
    expect(bench.producer.ensured).toBe(2);
  });

  it('stops with its session, and settles nothing that was not acknowledged', async () => {
    const bench = new Bench(new FakeProducer(() => ({ kind: 'failed', as: 'retry' })));
    bench.publish({ id: '0' });
    await new Promise((resolve) => setTimeout(resolve, 30));
    bench.ending.abort();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(bench.settled).toEqual([]);
    expect(bench.failures).toEqual([]);
    expect(bench.producer.inFlight).toBe(0);
  });
});

describe('A row that can never be published', () => {
  const tooLarge = (messages: readonly { readonly value: Buffer | string | null }[]): Outcome =>
    messages.reduce((bytes, message) => bytes + (message.value?.length ?? 0), 0) > 1000
      ? { kind: 'failed', as: 'too-large' }
      : { kind: 'stored' };

  it('is dead, and a placeholder with its id and place goes out for it (B99)', async () => {
    const bench = new Bench(new FakeProducer(tooLarge));
    for (const id of ids(40)) {
      bench.publish({
        id,
        payload: Buffer.alloc(id === '17' ? 2000 : 50),
        traceparent: 'trace',
        type: 'task.dispatched',
      });
    }
    await bench.allSettled(40);
    expect(bench.storedIds).toEqual(ids(40));
    expect(bench.dead).toEqual([{ id: '17', reason: 'MESSAGE_TOO_LARGE' }]);
    const placeholder = bench.producer.stored[17]?.message;
    expect(placeholder?.headers).toEqual({ id: '17', run_seq: '17', type: 'outbox.poisoned', traceparent: 'trace' });
    expect(JSON.parse(String(placeholder?.value))).toMatchObject({
      type: 'task.dispatched',
      reason: 'MESSAGE_TOO_LARGE',
    });
  });

  it('is only dead when not even its placeholder fits', async () => {
    const bench = new Bench(new FakeProducer(() => ({ kind: 'failed', as: 'too-large' })));
    bench.publish({ id: '0' });
    await bench.allSettled(1);
    expect(bench.dead).toHaveLength(1);
  });

  it.each([
    'baton.default.tasks.Bad',
    'baton.default.tasks.a.b',
    'other.default.tasks.a',
    'baton..events',
    'baton.default.events.x',
    `baton.default.tasks.${'q'.repeat(64)}`,
    '',
  ])('is dead for its topic (R28): %j', async (bad) => {
    const bench = new Bench(new FakeProducer());
    bench.publish({ id: '0', topic: bad });
    bench.publish({ id: '1' });
    await bench.allSettled(2);
    expect(bench.dead).toEqual([{ id: '0', reason: 'BAD_TOPIC' }]);
    expect(bench.storedIds).toEqual(['1']);
  });

  it('is dead for headers that are no object of texts; good ones are carried, under its own', async () => {
    const bench = new Bench(new FakeProducer());
    bench.publish({ id: '0', headers: '{"a":1}' });
    bench.publish({ id: '1', headers: '{"tenant":"x","id":"stolen","traceparent":"stolen"}' });
    await bench.allSettled(2);
    expect(bench.dead).toEqual([{ id: '0', reason: 'BAD_HEADERS' }]);
    expect(bench.producer.stored[1]?.message.headers).toEqual({
      tenant: 'x',
      id: '1',
      run_seq: '1',
      type: 'task.dispatched',
    });
  });
});
