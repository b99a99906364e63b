import { createDatabase, moveClock } from '@baton/testkit';
import { openSagaStore } from '../../storage/postgres-store.js';
import { openWorld } from './open-world.js';
import type { SagaWorld } from './saga-world.js';

/** Processes over one PostgreSQL, whose clock the test moves. */
export async function openPostgresWorld(): Promise<SagaWorld> {
  const database = await createDatabase({ library: true });
  let movedMs = 0;
  return openWorld({
    openStore: () => openSagaStore({ url: database.url, poolSize: 5 }),
    passes: async (ms) => {
      movedMs += ms;
      await moveClock(database.url, `${movedMs} milliseconds`);
    },
    close: () => database.drop(),
  });
}
