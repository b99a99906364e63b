import { randomUUID } from 'node:crypto';
import { createDatabase, moveClock, type TestDatabase } from '@baton/testkit';
import { createLibraryStore, type LibraryStore } from './library-store.js';
import { MAJORS } from './testing/store-fixture.js';

const TTL_MS = 10_000;

describe.each(MAJORS)('what the embedded runtime asks for on PostgreSQL %i', (major) => {
  let database: TestDatabase;
  let store: LibraryStore;

  beforeAll(async () => {
    database = await createDatabase({ major, library: true });
    store = createLibraryStore({ url: database.url });
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });
  afterEach(() => moveClock(database.url, '0 seconds'));

  const lock = (key: string) => ({ key, token: randomUUID() });

  it('W11: gives a lock to one holder at a time, by the database clock', async () => {
    const [mine, other] = [lock('a'), lock('a')];
    expect(await store.takeRunLock(mine, TTL_MS)).toBe(true);
    expect(await store.takeRunLock(mine, TTL_MS)).toBe(true);
    expect(await store.takeRunLock(other, TTL_MS)).toBe(false);
    await moveClock(database.url, '9 seconds');
    expect(await store.renewRunLock(mine, TTL_MS)).toBe(true);
    await moveClock(database.url, '18 seconds');
    expect(await store.takeRunLock(other, TTL_MS)).toBe(false);
    await moveClock(database.url, '20 seconds');
    expect(await store.renewRunLock(mine, TTL_MS)).toBe(false);
    expect(await store.takeRunLock(other, TTL_MS)).toBe(true);
  });

  it('gives a lock up by its own token alone', async () => {
    const [mine, other] = [lock('b'), lock('b')];
    await store.takeRunLock(mine, TTL_MS);
    await store.releaseRunLock(other);
    expect(await store.takeRunLock(other, TTL_MS)).toBe(false);
    await store.releaseRunLock(mine);
    await store.releaseRunLock(mine);
    expect(await store.takeRunLock(other, TTL_MS)).toBe(true);
    expect(await store.renewRunLock(mine, TTL_MS)).toBe(false);
  });

  it('gives a lock to one of many that ask at once', async () => {
    const taken = await Promise.all(Array.from({ length: 10 }, () => store.takeRunLock(lock('crowd'), TTL_MS)));
    expect(taken.filter((one) => one)).toHaveLength(1);
  });

  it('clears away what dead holders left, and nothing else', async () => {
    await moveClock(database.url, '1 hour');
    await store.purgeRunLocks(100);
    await moveClock(database.url, '0 seconds');
    for (const key of ['c', 'd', 'e']) await store.takeRunLock(lock(key), TTL_MS);
    await store.takeRunLock(lock('f'), 60_000);
    await moveClock(database.url, '11 seconds');
    expect(await store.purgeRunLocks(2)).toBe(2);
    expect(await store.purgeRunLocks(10)).toBe(1);
    expect(await store.takeRunLock(lock('f'), TTL_MS)).toBe(false);
  });

  it('W18: counts what waits, up to a bound', async () => {
    expect(await store.readBacklog('default', ['order'], 100)).toEqual({
      ...{ running: 0, compensating: 0, claimable: 0, oldestClaimableMs: null },
    });
  });
});
