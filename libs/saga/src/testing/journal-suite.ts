import type { EngineApi } from '@baton/engine';
import { sagaEventNames } from '../events/event-names.js';
import { openSagaEngine } from '../storage/open-engine.js';
import { describeAppends } from './journal-suite-appends.js';
import { describeClaims } from './journal-suite-claims.js';
import { describeEnds } from './journal-suite-ends.js';
import { describeReading } from './journal-suite-reading.js';
import { openWorld, type JournalWorld, type MakeStore, type StoreUnderTest } from './journal-world.js';

/**
 * What every database for sagas must do under the journal's ports. Anything that opens a `SagaStore` runs it; a test finds
 * those that do not.
 */
export function describeJournal(name: string, make: MakeStore): void {
  describe(`the journal on ${name}`, () => {
    let under: StoreUnderTest;
    let engine: EngineApi;
    let otherEngine: EngineApi;
    let count = 0;
    beforeAll(async () => {
      under = await make();
      engine = openSagaEngine(under.store, { events: sagaEventNames() });
      otherEngine = openSagaEngine(under.store, { events: sagaEventNames() });
    });
    afterAll(async () => {
      await engine.close();
      await otherEngine.close();
      await under.close();
    });

    const open = (): Promise<JournalWorld> =>
      openWorld({ under, engine, otherEngine, namespace: `test-${(count += 1)}` });
    describeReading(open);
    describeAppends(open);
    describeClaims(open);
    describeEnds(open);
  });
}
