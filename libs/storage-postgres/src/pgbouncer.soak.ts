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

const { status, stdout } = spawnSync(pgbouncer(), ['--version'], { encoding: 'utf8' });
const isThere = status === 0;

if (isThere) describePooled('PgBouncer in transaction mode', startPgBouncer);

// Not on every machine: on the PATH, or where BATON_PGBOUNCER says.
(isThere ? it : it.skip)('PgBouncer: what it costs that each statement is planned anew', async () => {
  const fixture = await storeFixture(18, { library: true });
  const pooler = await startPgBouncer(fixture.url);
  const direct = createPostgresStore({ url: fixture.url, poolSize: 2 });
  const pooled = createPostgresStore({ url: pooler.url, poolSize: 2, ...POOLED });
  const figures = { directMs: await medianReport(direct), pooledMs: await medianReport(pooled) };
  keepResult('pgbouncer', { version: stdout.split('\n')[0], reportsOneAtATime: REPORTS, medianReport: figures });
  expect(figures.pooledMs).toBeGreaterThan(0);
  for (const store of [direct, pooled]) await store.close();
  await pooler.close();
  await fixture.close();
});

/** Milliseconds of one report that comes alone: a task ends, the next begins. */
async function medianReport(store: Store): Promise<number> {
  const times: number[] = [];
  for (const run of await startRuns(store, REPORTS)) {
    const startedAt = performance.now();
    const { held } = await store.write({ batchId: randomUUID(), runs: [reportWrite(run)] });
    times.push(performance.now() - startedAt);
    expect(held.size).toBe(1);
  }
  const sorted = times.sort((a, b) => a - b);
  return Math.round((sorted[REPORTS / 2] ?? 0) * 100) / 100;
}
