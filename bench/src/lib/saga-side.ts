import { createSagaRuntime, defaultSagaConfig, defineSaga, SagaRegistry } from '@baton/saga';
import { stepBody, type LibrarySide, type StepOutput } from './library-side.js';

interface Order {
  readonly n: number;
}

interface Outputs {
  readonly reserve: StepOutput;
  readonly charge: StepOutput;
  readonly ship: StepOutput;
}

const order = defineSaga<Order, Outputs>({
  id: 'order',
  steps: [
    { name: 'reserve', run: ({ input }) => stepBody('reserve', input.n) },
    { name: 'charge', run: ({ input }) => stepBody('charge', input.n) },
    { name: 'ship', run: ({ input }) => stepBody('ship', input.n) },
  ],
});

/** A run gives its slot back a moment after its caller has the result, and the caller starts the next at once. */
const SLOTS_PER_RUN = 2;

/** `@baton/saga` as a service uses it: a runtime, its client, start and result. Defaults kept but for the slots. */
export async function sagaSide(
  url: string,
  { poolSize, inFlight }: { readonly poolSize: number; readonly inFlight: number },
): Promise<LibrarySide> {
  const runtime = await createSagaRuntime({
    registry: new SagaRegistry([order]),
    database: { url, poolSize },
    config: defaultSagaConfig,
    concurrency: SLOTS_PER_RUN * inFlight,
    logger: { debug: silence, info: silence, warn: silence, error: silence },
  });
  await runtime.start();
  await runtime.ready;
  return {
    name: 'saga',
    async runOnce(n) {
      const { result } = await runtime.client.start(order, { n });
      const ended = await result();
      if (ended.status !== 'succeeded' || ended.outputs.ship.n !== n) throw new Error(`a saga ended ${ended.status}`);
    },
    close: () => runtime.close(),
  };
}

const silence = (): void => undefined;
