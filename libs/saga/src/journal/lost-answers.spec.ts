import { StoreError } from '@baton/engine';
import { v7 } from 'uuid';
import { SagaRegistry } from '../definition/registry.js';
import { sagaEventNames } from '../events/event-names.js';
import { openSagaEngine } from '../storage/open-engine.js';
import { suiteSagas } from '../testing/journal-sagas.js';
import { done, LEASE_MS, newInstance, only, TAKE } from '../testing/journal-world.js';
import { openMemorySagaStore } from '../testing/memory-store.js';
import { createJournal } from './journal.js';

async function open() {
  const store = openMemorySagaStore();
  await store.definitions.publish('default', suiteSagas);
  const engine = openSagaEngine(store, { events: sagaEventNames() });
  const journalOf = (resolver: SagaRegistry, owner: string) =>
    createJournal({ store, engine, resolver, namespace: 'default', owner, newId: v7 });
  return { store, engine, journalOf, journal: journalOf(new SagaRegistry(suiteSagas), 'first') };
}

describe('a journal whose database does not answer', () => {
  it('J5: gets the same leases again when the answer to a claim was lost (R10), and no lease lies about', async () => {
    const { store, journal } = await open();
    const { runs } = store;
    await journal.enqueue(newInstance('one'));
    await journal.enqueue(newInstance('one'));
    const claim = runs.claim.bind(runs);
    const granted: string[] = [];
    runs.claim = async (call) => {
      granted.push(...(await claim(call)).map(({ leaseId }) => leaseId));
      throw new StoreError('unavailable', 'the connection broke');
    };
    const batch = { limit: 2, leaseMs: LEASE_MS };
    await expect(journal.claimPending(batch)).rejects.toMatchObject({ name: 'SagaError', kind: 'unavailable' });
    runs.claim = claim;
    const again = await journal.claimPending(batch);
    expect(again.map(({ leaseId }) => leaseId)).toEqual(granted);
    expect(granted).toHaveLength(2);
    for (const step of again) expect(await journal.append(step, done())).toMatchObject({ status: 'succeeded' });
    // The next claim is a new one.
    await journal.enqueue(newInstance('one'));
    expect(only(await journal.claimPending(batch)).leaseId).not.toBe(granted[0]);
  });

  it('tells by its kind of error that a repeat may help', async () => {
    const { store, journal } = await open();
    const { claimed } = await journal.enqueue(newInstance('one'), TAKE);
    store.runs.write = () => Promise.reject(new StoreError('unavailable', 'no'));
    await expect(journal.append(only(claimed), done())).rejects.toMatchObject({
      name: 'SagaError',
      kind: 'unavailable',
    });
  });

  it('J12: is not ready, and says why', async () => {
    const { store, journal } = await open();
    store.break(new Error('a table is missing'));
    await expect(journal.repoReady()).rejects.toThrow('a table is missing');
    store.break(null);
    await expect(journal.repoReady()).resolves.toBeUndefined();
  });
});

describe('a process that does not have every saga', () => {
  it('W12: claims, looks at and takes on nothing of a version that it does not have; others do', async () => {
    const { journal, journalOf } = await open();
    const known = new SagaRegistry(suiteSagas.filter(({ id }) => id === 'one'));
    const partial = journalOf(known, 'partial');
    const none = journalOf(new SagaRegistry([]), 'none');
    const { claimed } = await partial.enqueue(newInstance('line'), TAKE);
    expect(claimed).toEqual([]);
    const batch = { limit: 5, leaseMs: LEASE_MS };
    for (const other of [partial, none]) {
      expect([await other.claimPending(batch), await other.peekPending(5)]).toEqual([[], []]);
    }
    expect(only(await journal.claimPending(batch))).toMatchObject({ definitionId: 'line', nodeId: 'a' });
  });
});
