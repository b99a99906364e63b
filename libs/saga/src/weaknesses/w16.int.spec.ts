import { eventually } from '@baton/testkit';
import type { ClientBase } from 'pg';
import { v7 } from 'uuid';
import { SagaRegistry } from '../definition/registry.js';
import { sagaEventNames } from '../events/event-names.js';
import { createJournal } from '../journal/journal.js';
import { openSagaEngine } from '../storage/open-engine.js';
import { suiteSagas } from '../testing/journal-sagas.js';
import { newInstance } from '../testing/journal-world.js';
import { postgresUnderTest, type PostgresUnderTest } from '../testing/postgres-under-test.js';
import { OldJournal } from './old/locked-journal.js';

interface Commits {
  /** Writes an event of one run in a transaction that stays open; answers how it commits. */
  begin(): Promise<() => Promise<void>>;
  /** Writes an event of another run and commits. Rejects when it has to wait. */
  commit(): Promise<void>;
  /** How many events a reader that goes on from where it was has seen by now. */
  read(): Promise<number>;
}

/** W16: another run's commit does not wait, and a reader that looks in between misses nothing and sees nothing late. */
async function neitherWaitsNorMisses({ begin, commit, read }: Commits, timeoutMs = 15_000): Promise<void> {
  const end = await begin();
  await commit();
  await read();
  await end();
  // Transactions of other tests on the same server may hold a reader up, for a moment.
  await eventually(async () => (await read()) === 2, { what: 'both events', timeoutMs });
}

describe('W16: one lock over the table', () => {
  let under: PostgresUnderTest;
  beforeAll(async () => {
    under = await postgresUnderTest();
    await under.store.definitions.publish('default', suiteSagas);
    await OldJournal.create(await under.connect());
  });
  afterAll(() => under.close());

  it('W16: commits of different runs do not wait for each other, and readers still miss nothing', async () => {
    const { store } = under;
    const engine = openSagaEngine(store, { events: sagaEventNames() });
    const resolver = new SagaRegistry(suiteSagas);
    const journal = createJournal({ store, engine, resolver, namespace: 'default', owner: 'one', newId: v7 });
    const client = await under.connect();
    const seen: string[] = [];
    let cursor: string | null = null;
    await neitherWaitsNorMisses({
      async begin() {
        await client.query('BEGIN');
        await journal.enqueueWithin(client, newInstance('one'));
        return async () => void (await client.query('COMMIT'));
      },
      commit: async () => void (await journal.enqueue(newInstance('one'))),
      async read() {
        const events = await journal.loadSince(cursor, 10);
        seen.push(...events.map(({ runId }) => runId));
        cursor = events.at(-1)?.cursor ?? cursor;
        return new Set(seen).size;
      },
    });
    expect(seen).toHaveLength(2);
    await engine.close();
  });

  async function old(isLocked: boolean): Promise<Commits> {
    const journal = new OldJournal(isLocked);
    const first = await under.connect();
    const second = await under.connect();
    await second.query(`SET lock_timeout = '200ms'`);
    await second.query('TRUNCATE old_events RESTART IDENTITY');
    let after = 0;
    let seen = 0;
    const inTransaction = async (client: ClientBase, run: string) => {
      await client.query('BEGIN');
      try {
        await journal.append(client, run);
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      }
    };
    return {
      async begin() {
        await inTransaction(first, 'first');
        return async () => void (await first.query('COMMIT'));
      },
      async commit() {
        try {
          await inTransaction(second, 'second');
        } catch (error) {
          await first.query('ROLLBACK');
          throw error;
        }
        await second.query('COMMIT');
      },
      async read() {
        const rows = await journal.loadSince(second, after);
        after = rows.at(-1)?.seq ?? after;
        return (seen += rows.length);
      },
    };
  }

  it('W16: the old behaviour fails this check', async () => {
    // 55P03: it waited for the lock until its patience was over.
    await expect(neitherWaitsNorMisses(await old(true))).rejects.toMatchObject({ code: '55P03' });
  });

  it('W16: the old behaviour without its lock fails this check too: the reader misses what commits late', async () => {
    await expect(neitherWaitsNorMisses(await old(false), 1_000)).rejects.toThrow('1000 ms for both events');
  });
});
