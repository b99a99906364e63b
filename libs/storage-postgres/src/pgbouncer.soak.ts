import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Store } from '@baton/engine';
import { keepResult } from '@baton/testkit';
import { createPostgresStore } from './store.js';
import { pgbouncer, startPgBouncer } from './testing/pgbouncer.js';
import { describePooled, POOLED } from './testing/pooled-suite.js';
import { storeFixture } from './testing/store-fixture.js';
import { reportWrite, startRuns } from './testing/writes.js';

const REPORTS = 300;
const BATCH = 32;

const { status, stdout } = spawnSync(pgbouncer(), ['--version'], { encoding: 'utf8' });
const isThere = status === 0;

if (isThere) describePooled('PgBouncer in transaction mode', startPgBouncer);

// Not on every machine: on the PATH, or where BATON_PGBOUNCER says.
(isThere ? it : it.skip)('PgBouncer: what it costs that each statement is planned anew', async () => {
  const fixture = await storeFixture(18, { library: true });
  const pooler = await startPgBouncer(fixture.url);
  const direct = createPostgresStore({ url: fixture.url, poolSize: 2 });
  const pooled = createPostgresStore({ url: pooler.url, poolSize: 2, ...POOLED });
  keepResult('pgbouncer', {
    version: stdout.split('\n')[0],
    medianMsOfOneReport: { direct: await medianReport(direct, 1), pooled: await medianReport(pooled, 1) },
    medianMsOfABatchOf32: { direct: await medianReport(direct, BATCH), pooled: await medianReport(pooled, BATCH) },
  });
  for (const store of [direct, pooled]) await store.close();
  await pooler.close();
  await fixture.close();
});

/** Milliseconds of a write of so many reports: of each run a task ends, and the next begins. */
async function medianReport(store: Store, size: number): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < REPORTS; round += 1) {
    const batch = { batchId: randomUUID(), runs: (await startRuns(store, size)).map((run) => reportWrite(run)) };
    const startedAt = performance.now();
    const { held } = await store.write(batch);
    times.push(performance.now() - startedAt);
    expect(held.size).toBe(size);
  }
  const sorted = times.sort((a, b) => a - b);
  return Math.round((sorted[REPORTS / 2] ?? 0) * 100) / 100;
}
