import { createHash } from 'node:crypto';
import { createEngine, type EngineApi } from '@baton/engine';
import { templateCompiler } from '@baton/expressions';
import { createPostgresStore } from '@baton/storage-postgres';
import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { failed } from '../../errors.js';

export interface SagaEngine {
  readonly engine: EngineApi;
  close(): Promise<void>;
}

/** A command holds one connection while it locks, and loads the definition over another; a fourth part is for views. */
const POOL_SIZE = 4;

/** The engine of the embedded runtime for questions and commands: it starts nothing and runs no step. */
export async function openSagaEngine(url: string): Promise<SagaEngine> {
  await checkSchema(url);
  const store = createPostgresStore({ url, applicationName: 'baton saga', poolSize: POOL_SIZE });
  const engine = createEngine({
    store,
    templates: templateCompiler,
    schemas: { validate: () => [] },
    newId: uuidv7,
    hash: (text) => createHash('sha256').update(text, 'utf8').digest('hex'),
    random: Math.random,
    now: Date.now,
    route: 'local',
  });
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
