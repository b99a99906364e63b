import { describeStore } from '@baton/engine/testing';
import { MAJORS, storeFixture } from './testing/store-fixture.js';
import { newRunId } from './testing/writes.js';

for (const major of MAJORS) {
  describeStore(`PostgreSQL ${major}`, async () => {
    const fixture = await storeFixture(major);
    let moved = 0;
    return {
      store: fixture.store,
      newId: newRunId,
      advance: async (ms) => {
        moved += ms;
        await fixture.moveClock(`${moved} milliseconds`);
      },
      outbox: async (runId) => {
        const rows = await fixture.query<{ run_seq: string; payload: string }>(
          'SELECT run_seq, payload FROM baton.outbox WHERE run_id = $1 ORDER BY run_seq',
          [runId],
        );
        return rows.map((row) => ({ runSeq: Number(row.run_seq), payload: row.payload }));
      },
      close: () => fixture.close(),
    };
  });
}
