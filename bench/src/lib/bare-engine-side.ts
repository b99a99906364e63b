import { createHash, randomUUID } from 'node:crypto';
import { createEngine, type EngineApi, type LeasedTask, type LeaseWish } from '@baton/engine';
import { templateCompiler } from '@baton/expressions';
import { createPostgresStore } from '@baton/storage-postgres';
import { Client } from 'pg';
import { STEP_NAMES, stepBody, type LibrarySide } from './library-side.js';
import { uuidv7 } from './one-transaction-per-event.js';

const DEFINITION = { id: 'bare-order', version: 1 };
const LEASE_MS = 30_000;

/**
 * The engine alone, with the four commits of a three-step run and nothing around them: what is left for the runtime of
 * `@baton/saga` to add. A diagnosis, not a way to use Baton.
 */
export async function bareEngineSide(url: string, poolSize: number): Promise<LibrarySide> {
  await publish(url);
  const store = createPostgresStore({ url, poolSize });
  const engine = createEngine({
    store,
    templates: templateCompiler,
    schemas: { validate: () => [] },
    newId: uuidv7,
    random: Math.random,
    now: Date.now,
    hash: (text: string) => createHash('sha256').update(text).digest('hex'),
    route: 'local',
    transactions: 'single-statement',
  });
  const wish: LeaseWish = { owner: randomUUID(), ttlMs: LEASE_MS, max: 1 };
  return {
    name: 'bare_engine',
    runOnce: (n) => runToItsEnd(engine, wish, n),
    async close() {
      await engine.close();
      await store.close();
    },
  };
}

async function runToItsEnd(engine: EngineApi, wish: LeaseWish, n: number): Promise<void> {
  const started = await engine.start({
    namespace: 'default',
    definitionId: DEFINITION.id,
    definitionVersion: DEFINITION.version,
    input: JSON.stringify({ n }),
    lease: wish,
  });
  let task: LeasedTask | undefined = started.leased?.[0];
  let status = started.status;
  while (task !== undefined) {
    const { namespace, runId, taskId, nodeId, attempt, leaseId } = task;
    const output = JSON.stringify(await stepBody(nodeId, n));
    const lease = { namespace, runId, taskId, nodeId, attempt, leaseId };
    const answer = await engine.reportAndLease({ ...lease, status: 'completed', output }, wish);
    if (answer.outcome !== 'APPLIED') throw new Error(`the report of ${nodeId} was ${answer.outcome}`);
    status = answer.status ?? status;
    task = answer.leased[0];
  }
  if (status !== 'SUCCEEDED') throw new Error(`the run ended ${status}`);
}

async function publish(url: string): Promise<void> {
  const nodes = STEP_NAMES.map((id, index) => ({
    id,
    type: 'task',
    queue: 'bench',
    input: '${input}',
    ...(index === 0 ? {} : { after: [STEP_NAMES[index - 1]] }),
  }));
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(
      `INSERT INTO baton.workflow_definitions (namespace, id, version, spec, content_hash) VALUES ('default', $1, $2, $3, 'x')`,
      [DEFINITION.id, DEFINITION.version, JSON.stringify({ ...DEFINITION, nodes })],
    );
  } finally {
    await client.end();
  }
}
