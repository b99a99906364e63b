import { createDatabase, moveClock, startTransactionPooler } from '@baton/testkit';
import { Client } from 'pg';
import { openSagaStore } from '../storage/postgres-store.js';
import { openWorld } from './testing/open-world.js';
import { describeSagas } from './testing/saga-suite.js';
import type { SagaWorld } from './testing/saga-world.js';

/** The oldest release; all of them live a short life in majors.int.spec.ts of the storage. */
const MAJOR = 14;

describeSagas(
  `PostgreSQL ${MAJOR}, as a role with its schema alone, through a pooler in transaction mode`,
  openPlainWorld,
);

/** Everything, the tables too, by a role that may do nothing else, on a server without logical decoding. */
async function openPlainWorld(): Promise<SagaWorld> {
  const database = await createDatabase({ migrated: false, major: MAJOR, logicalDecoding: false });
  const admin = new Client({ connectionString: database.url });
  await admin.connect();
  const role = `sagas_${database.name}`;
  await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret' NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION`);
  await admin.query(`REVOKE CREATE, TEMPORARY ON DATABASE ${database.name} FROM PUBLIC`);
  await admin.query(`CREATE SCHEMA baton AUTHORIZATION ${role}`);
  const own = new URL(database.url);
  own.username = role;
  own.password = 'secret';
  const pooler = await startTransactionPooler({ url: own.toString(), sessions: 6 });
  let movedMs = 0;
  return openWorld({
    openStore: () => openSagaStore({ url: pooler.url, pooler: 'transaction', poolSize: 5, migrate: true }),
    passes: async (ms) => {
      movedMs += ms;
      await moveClock(database.url, `${movedMs} milliseconds`);
    },
    async close() {
      await pooler.close();
      await admin.query(`DROP OWNED BY ${role}`);
      await admin.query(`DROP ROLE ${role}`);
      await admin.end();
      await database.drop();
    },
  });
}
