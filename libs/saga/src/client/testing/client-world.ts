import { defineSaga } from '../../definition/define-saga.js';
import { SagaRegistry } from '../../definition/registry.js';
import type { Saga } from '../../definition/saga.js';
import { sagaEventNames } from '../../events/event-names.js';
import { systemNewId } from '../../executor/system-clock.js';
import { createJournal } from '../../journal/journal.js';
import type { ClaimedStep, StepReport } from '../../journal/ports.js';
import { openSagaEngine } from '../../storage/open-engine.js';
import type { SagaStore } from '../../storage/saga-store.js';
import type { SagaClient } from '../client.js';
import { clientOn } from '../create-client.js';

export interface OrderInput {
  readonly sku: string;
}

export interface OrderOutputs {
  reserve: { readonly reservation: string };
  approval: { readonly by: string };
  charge: number;
}

const compensate = () => undefined;

/** Reserve, wait for an approval, charge. Its steps are reported by hand. */
export const order: Saga<OrderInput, OrderOutputs> = defineSaga<OrderInput, OrderOutputs>({
  id: 'order',
  version: 2,
  input: { type: 'object', required: ['sku'], properties: { sku: { type: 'string' } } },
  steps: [
    { name: 'reserve', run: () => ({ reservation: '' }), compensate },
    { name: 'approval', waitFor: 'approved' },
    { name: 'charge', run: () => 0 },
  ],
});

export const NAMESPACE = 'default';

export interface ClientWorld {
  readonly client: SagaClient;
  /** Claims the one step that waits, and reports it. Answers what was claimed. */
  step(name: string, report: StepReport): Promise<ClaimedStep>;
  close(): Promise<void>;
}

/** A client in a process that runs nothing, and somebody else who reports steps. Each has a store over the same rows. */
export async function clientWorld(openStore: () => Promise<SagaStore>): Promise<ClientWorld> {
  const [store, other] = [await openStore(), await openStore()];
  const resolver = new SagaRegistry([order]);
  const client = await clientOn(store, { registry: resolver });
  const engine = openSagaEngine(other, { events: sagaEventNames() });
  const parts = { namespace: NAMESPACE, owner: 'worker', newId: systemNewId };
  const journal = createJournal({ store: other, engine, resolver, ...parts });
  return {
    client,
    async step(name, report) {
      const [claimed, ...more] = await journal.claimPending({ limit: 10, leaseMs: 60_000 });
      if (claimed === undefined || more.length > 0 || claimed.nodeId !== name) {
        throw new Error(
          `expected ${name} alone to wait, found ${[claimed, ...more].map((step) => step?.nodeId).join()}`,
        );
      }
      await journal.append(claimed, report);
      return claimed;
    },
    async close() {
      await client.close();
      await engine.close();
      await other.close();
    },
  };
}
