import { createDatabase, type TestDatabase } from '@baton/testkit';
import { openSagaStore } from '../storage/postgres-store.js';
import { describeClient } from './testing/client-suite.js';

let database: TestDatabase | undefined;

describeClient(
  'PostgreSQL',
  async () => {
    database ??= await createDatabase({ library: true });
    return openSagaStore({ url: database.url, poolSize: 3 });
  },
  async () => {
    await database?.drop();
    database = undefined;
  },
);
