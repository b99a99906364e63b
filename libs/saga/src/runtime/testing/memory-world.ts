import { openMemorySagaStore } from '../../testing/memory-store.js';
import { openWorld } from './open-world.js';
import type { SagaWorld } from './saga-world.js';

/** Processes over one store in memory, whose clock goes with real time and where the test moves it. */
export function openMemoryWorld(): Promise<SagaWorld> {
  const store = openMemorySagaStore({ elapsed: () => performance.now() });
  return openWorld({
    openStore: () => Promise.resolve({ ...store, close: () => Promise.resolve() }),
    passes: (ms) => Promise.resolve(store.advance(ms)),
    close: () => store.close(),
  });
}
