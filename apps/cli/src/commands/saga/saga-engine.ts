import type { EngineApi } from '@baton/engine';
import { openSagaEngine, openSagaStore, sagaEventNames } from '@baton/saga';
import { Client } from 'pg';
import { failed } from '../../errors.js';

export interface OpenedSagas {
  readonly engine: EngineApi;
  close(): Promise<void>;
}

/** A command holds one connection while it locks, and loads the definition over another; a fourth part is for views. */
const POOL_SIZE = 4;

/** The engine of the embedded runtime for questions and commands: it starts nothing and runs no step. */
export async function openSagas(url: string): Promise<OpenedSagas> {
  await checkSchema(url);
  const store = await openSagaStore({ url, poolSize: POOL_SIZE });
  // What a command changes is told as the runtime itself would.
  const engine = openSagaEngine(store, { events: sagaEventNames() });
  return {
    engine,
    async close() {
      await engine.close();
      await store.close();
    },
  };
}

/** Another schema than ours, or none, is told as that and not as a missing column. */
async function checkSchema(url: string): Promise<void> {
  const { checkSchemaVersion } = await import('@baton/migrations');
  const client = new Client({ connectionString: url, application_name: 'baton saga', connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const check = await checkSchemaVersion(client);
    if (check.state !== 'ok') throw failed(check.message);
  } finally {
    await client.end().catch(() => undefined);
  }
}
