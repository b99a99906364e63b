import { defineSaga } from '../definition/define-saga.js';
import { publishSagas } from '../definition/publish-sagas.js';
import { SagaRegistry } from '../definition/registry.js';
import type { Saga } from '../definition/saga.js';
import { sagaEventNames } from '../events/event-names.js';
import { systemNewId } from '../executor/system-clock.js';
import { createJournal } from '../journal/journal.js';
import { statusOfRun } from '../journal/kinds.js';
import { openSagaEngine } from '../storage/open-engine.js';
import { openMemorySagaStore } from '../testing/memory-store.js';
import { CursorByCount } from './old/cursor-by-count.js';

type Steps = readonly string[];

/** One run of a saga whose code changes while it is under way. */
interface Rollout {
  /** A process with this code goes on; null = with code that does not have the saga. */
  deploy(steps: Steps | null): Promise<void>;
  /** The process runs one step, and answers its name; null = there is none that it could run. */
  step(): Promise<string | null>;
  status(): Promise<string>;
}

type Begin = (steps: Steps) => Promise<Rollout>;

/** W12: a run ends with the very steps that it began with, each once, whatever the code looks like by then. */
async function finishesWithItsOwnSteps(begin: Begin, changed: Steps): Promise<void> {
  const run = await begin(['reserve', 'charge', 'ship']);
  const ran = [await run.step()];
  await run.deploy(changed);
  for (let name = await run.step(); name !== null; name = await run.step()) ran.push(name);
  expect(ran).toEqual(['reserve', 'charge', 'ship']);
  expect(await run.status()).toBe('succeeded');
}

/** W12: a process that does not know the saga leaves the run alone, and another goes on with it. */
async function unknownStaysClaimable(begin: Begin): Promise<void> {
  const run = await begin(['reserve', 'charge']);
  expect(await run.step()).toBe('reserve');
  await run.deploy(null);
  expect(await run.step()).toBeNull();
  expect(await run.status()).toBe('running');
  await run.deploy(['reserve', 'charge']);
  expect(await run.step()).toBe('charge');
}

const CHANGES: readonly (readonly [string, Steps])[] = [
  ['inserted', ['reserve', 'check', 'charge', 'ship']],
  ['removed', ['reserve', 'ship']],
  ['reordered', ['charge', 'reserve', 'ship']],
];

const sagaOf = (steps: Steps, version: number): Saga =>
  defineSaga({ id: 'order', version, steps: steps.map((name) => ({ name, run: () => null })) });

/** Processes over one database in memory. New steps go into a new version, because under the old one they are refused. */
const ours: Begin = async (steps) => {
  const store = openMemorySagaStore();
  const engine = openSagaEngine(store, { events: sagaEventNames() });
  const versions: Saga[] = [];
  const processOf = (sagas: readonly Saga[]) => {
    const parts = { namespace: 'default', owner: systemNewId(), newId: systemNewId };
    return createJournal({ store, engine, resolver: new SagaRegistry(sagas), ...parts });
  };
  const publish = async (saga: Saga) => {
    await publishSagas(store.definitions, 'default', new SagaRegistry([saga]));
    if (!versions.some(({ version }) => version === saga.version)) versions.push(saga);
  };
  await publish(sagaOf(steps, 1));
  let journal = processOf(versions);
  const { runId } = await journal.enqueue({ sagaId: 'order', sagaVersion: 1, input: null });
  return {
    async deploy(changed) {
      if (changed !== null) {
        const next = sagaOf(changed, 1);
        await publish(next).catch(async (error: { readonly code?: unknown }) => {
          expect(error.code).toBe('DEFINITION_CHANGED');
          await publish(sagaOf(changed, 2));
        });
      }
      journal = processOf(changed === null ? [] : versions);
    },
    async step() {
      const [claimed] = await journal.claimPending({ limit: 1, leaseMs: 1_000 });
      if (claimed === undefined) return null;
      await journal.append(claimed, { kind: 'step_completed', output: 'null' });
      return claimed.nodeId;
    },
    async status() {
      const { run, tasks } = await engine.getRun('default', runId, false);
      return statusOfRun(run.status, tasks);
    },
  };
};

const old: Begin = (steps) => {
  const run = new CursorByCount(steps);
  return Promise.resolve({
    deploy: (changed) => Promise.resolve(run.deploy(changed)),
    step: () => Promise.resolve(run.step()),
    status: () => Promise.resolve(run.status),
  });
};

describe('W12: a saga whose code changes while runs are in flight', () => {
  it.each(CHANGES)('W12: with a step %s a run keeps the steps that it began with', async (_what, steps) => {
    await finishesWithItsOwnSteps(ours, steps);
  });

  it('W12: a process without the saga leaves its runs claimable for others', async () => {
    await unknownStaysClaimable(ours);
  });

  it('W12: a process that has only the new version leaves runs of the old one to others', async () => {
    const store = openMemorySagaStore();
    const engine = openSagaEngine(store, { events: sagaEventNames() });
    const [first, second] = [sagaOf(['a'], 1), sagaOf(['a', 'b'], 2)];
    await publishSagas(store.definitions, 'default', new SagaRegistry([first, second]));
    const parts = { store, engine, namespace: 'default', owner: 'p', newId: systemNewId };
    const [oldProcess, newProcess] = [first, second].map((saga) =>
      createJournal({ ...parts, resolver: new SagaRegistry([saga]) }),
    );
    await oldProcess?.enqueue({ sagaId: 'order', sagaVersion: 1, input: null });
    expect(await newProcess?.claimPending({ limit: 10, leaseMs: 1_000 })).toEqual([]);
    expect(await newProcess?.peekPending(10)).toEqual([]);
    expect(await oldProcess?.claimPending({ limit: 10, leaseMs: 1_000 })).toMatchObject([{ definitionVersion: 1 }]);
  });

  it.each(CHANGES)('W12: the old behaviour fails this check with a step %s', async (_what, steps) => {
    await expect(finishesWithItsOwnSteps(old, steps)).rejects.toThrow();
  });

  it('W12: the old behaviour fails this check without the saga', async () => {
    await expect(unknownStaysClaimable(old)).rejects.toThrow();
  });
});
