import { createLibraryStore, type LibraryStore } from '@baton/storage-postgres';
import { createDatabase, moveClock, type TestDatabase } from '@baton/testkit';
import { systemNewId } from '../executor/system-clock.js';
import { fakeClock } from '../testing/fake-clock.js';
import { postgresBackend, postgresLocker } from './postgres-locker.js';
import { RenewingLocker } from './renewing-locker.js';
import { CountedBackend } from './testing/counted-backend.js';
import { lockerSuite, type LockerWorld } from './testing/locker-suite.js';

describe('the PostgreSQL locker', () => {
  let database: TestDatabase;
  let store: LibraryStore;
  let world: LockerWorld;

  beforeAll(async () => {
    database = await createDatabase({ library: true });
    store = createLibraryStore({ url: database.url });
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  beforeEach(async () => {
    const clock = fakeClock();
    const backend = new CountedBackend(postgresBackend(store));
    const locker = () => new RenewingLocker({ backend, clock, newToken: systemNewId });
    let movedMs = 0;
    await moveClock(database.url, '0 seconds');
    world = {
      a: locker(),
      b: locker(),
      calls: () => backend.upkeep,
      // Steps short against the time to live; each is over when no call of the backend is under way.
      async advance(ms) {
        for (let left = ms; left > 0; left -= STEP_MS) {
          movedMs += Math.min(left, STEP_MS);
          await moveClock(database.url, `${movedMs} milliseconds`);
          await clock.advance(Math.min(left, STEP_MS));
          await backend.idle();
        }
      },
    };
  });

  lockerSuite(() => world);

  it('W11: holds by the time of the database alone: clocks of processes an hour off change nothing', async () => {
    const ahead = postgresLocker({ url: database.url, clock: fakeClock(3_600_000) });
    const behind = postgresLocker({ url: database.url, clock: fakeClock(0) });
    const lock = await behind.acquire('saga:5:order:skew', 30_000);
    expect(await ahead.acquire('saga:5:order:skew', 30_000)).toBeNull();
    await lock?.release();
    const next = await ahead.acquire('saga:5:order:skew', 30_000);
    expect(next).not.toBeNull();
    expect(await behind.acquire('saga:5:order:skew', 30_000)).toBeNull();
    await next?.release();
    await Promise.all([ahead.close(), behind.close()]);
  });
});

const STEP_MS = 1_000;
