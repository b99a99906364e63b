import { createEngine, type EngineApi, type LeasedTask, type Store } from '@baton/engine';
import { engineOptions } from '@baton/engine/testing';
import { templateCompiler } from '@baton/expressions';
import { createPostgresStore, createTimerStore, type TimerStore } from '@baton/storage-postgres';
import { createDatabase, moveClock, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import { defineSaga } from '../definition/define-saga.js';
import { systemNewId, systemWallClock } from '../executor/system-clock.js';
import { ProcessClockLeases } from './old/process-clock-leases.js';

const HOUR_MS = 3_600_000;
const LEASE_MS = 30_000;
const NAMESPACE = 'default';

type Who = 'ahead' | 'behind';

/** One run of two steps, and two processes whose clocks are an hour ahead and an hour behind. */
interface TwoProcesses {
  /** Has the process got the next step? */
  claim(who: Who): Promise<boolean>;
  /** Was the record of the step that the process holds taken? */
  commit(who: Who): Promise<boolean>;
  /** True time goes on. */
  pass(ms: number): Promise<void>;
}

/** W11: who holds a lease, for how long, and what may be written, does not depend on the clocks of processes. */
async function clocksOfProcessesDoNotMatter(run: TwoProcesses): Promise<void> {
  expect(await run.claim('behind')).toBe(true);
  // By its own clock that lease ended long ago.
  expect(await run.claim('ahead')).toBe(false);
  await run.pass(LEASE_MS + 1_000);
  expect(await run.claim('ahead')).toBe(true);
  await run.pass(LEASE_MS + 1_000);
  // By the clock that wrote it, that lease goes on for an hour.
  expect(await run.claim('behind')).toBe(true);
  await run.pass(LEASE_MS + 1_000);
  expect(await run.claim('ahead')).toBe(true);
  expect(await run.commit('ahead')).toBe(true);
  // Two hours earlier by its own clock.
  expect(await run.claim('behind')).toBe(true);
  expect(await run.commit('behind')).toBe(true);
}

describe('W11: clocks of processes that are an hour off', () => {
  const saga = defineSaga({
    id: 'skewed',
    steps: [
      { name: 'first', run: () => 1 },
      { name: 'second', run: () => 2 },
    ],
  });
  let database: TestDatabase;
  const stores: Store[] = [];
  let timers: TimerStore;
  let engines: Readonly<Record<Who, EngineApi>>;

  beforeAll(async () => {
    database = await createDatabase({ library: true });
    timers = createTimerStore({ url: database.url });
    await publish(database.url, saga.spec);
    engines = { ahead: processWith(HOUR_MS), behind: processWith(-HOUR_MS) };
  });
  afterAll(async () => {
    for (const engine of Object.values(engines)) await engine.close();
    for (const store of stores) await store.close();
    await timers.close();
    await database.drop();
  });

  function processWith(offMs: number): EngineApi {
    const store = createPostgresStore({ url: database.url, poolSize: 4 });
    stores.push(store);
    const now = () => systemWallClock() + offMs;
    const options = engineOptions(store, 0);
    return createEngine({ ...options, now, newId: systemNewId, templates: templateCompiler, route: 'local' });
  }

  it('W11: change nothing: leases and records go by the time of the database', async () => {
    await engines.ahead.start({ namespace: NAMESPACE, definitionId: saga.id, definitionVersion: 1, input: null });
    const held = new Map<Who, LeasedTask>();
    let passedMs = 0;
    await clocksOfProcessesDoNotMatter({
      async claim(who) {
        const { id, version, queue } = saga;
        const call = { namespace: NAMESPACE, owner: who, callId: systemNewId(), ttlMs: LEASE_MS, limit: 1 };
        const [step] = await engines[who].claim({ ...call, definitions: [{ id, version, queue }] });
        if (step !== undefined) held.set(who, step);
        return step !== undefined;
      },
      async commit(who) {
        const step = held.get(who);
        if (step === undefined) throw new Error('nothing is held');
        const { namespace, runId, taskId, nodeId, attempt, leaseId } = step;
        const report = {
          namespace,
          runId,
          taskId,
          nodeId,
          attempt,
          leaseId,
          status: 'completed',
          output: '1',
        } as const;
        return (await engines[who].report(report)) === 'APPLIED';
      },
      async pass(ms) {
        passedMs += ms;
        await moveClock(database.url, `${passedMs} milliseconds`);
        // Whichever process looks for what is due: here the one whose clock is behind.
        await engines.behind.fireDue((await timers.readDue(10)).items);
      },
    });
  });

  it('W11: the old behaviour fails this check', async () => {
    const leases = new ProcessClockLeases(LEASE_MS);
    let trueTime = HOUR_MS * 10;
    const nowOf = (who: Who) => trueTime + (who === 'ahead' ? HOUR_MS : -HOUR_MS);
    const old: TwoProcesses = {
      claim: (who) => Promise.resolve(leases.claim(nowOf(who))),
      commit: (who) => Promise.resolve(leases.commit(nowOf(who))),
      pass: (ms) => Promise.resolve(void (trueTime += ms)),
    };
    await expect(clocksOfProcessesDoNotMatter(old)).rejects.toThrow();
  });
});

async function publish(url: string, spec: string): Promise<void> {
  const { id, version } = JSON.parse(spec) as { readonly id: string; readonly version: number };
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(PUBLISH, [NAMESPACE, id, version, spec]);
  } finally {
    await client.end();
  }
}

const PUBLISH =
  'INSERT INTO baton.workflow_definitions (namespace, id, version, spec, content_hash) VALUES ($1, $2, $3, $4, $4)';
