import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@baton/local-stack';
import { migrate } from '@baton/migrations';
import { Client } from 'pg';
import { bareEngineSide } from './lib/bare-engine-side.js';
import { dbosSide } from './lib/dbos-side.js';
import { heapSamples } from './lib/heap.js';
import { heapMetrics, libraryMetrics, type HeapSample, type SideSamples } from './lib/library-figures.js';
import type { LibrarySide } from './lib/library-side.js';
import { machine, print, wantsJson } from './lib/report.js';
import { sagaSide } from './lib/saga-side.js';
import { drive } from './lib/stats.js';

const POOL_SIZE = 10;
const IN_FLIGHT = 32;
const ROUNDS = 5;
/** Long enough that a round of the fast side and one of the slow side take about the same time. */
const ROUND_MS = 2_000;
const WARM_UP_MS = 2_000;
const SINGLES = 300;
const COUNTED_RUNS = 50;
const HEAP_RUNS = 100_000;

/**
 * Three-step sagas in one process on one PostgreSQL: `@baton/saga` against DBOS Transact, in rounds that alternate. And the
 * engine without the runtime, to see what the runtime costs.
 */
async function main(): Promise<void> {
  const { heapRuns, rest } = heapRunsOf(process.argv.slice(2));
  const asJson = wantsJson(rest);
  const dir = mkdtempSync(join(tmpdir(), 'baton-bench-'));
  const postgres = await startPostgres({ dataDir: join(dir, 'postgres') });
  try {
    if (heapRuns !== null) {
      await measureHeap(postgres.url, heapRuns, asJson);
      return;
    }
    const sides = await openSides(postgres.url);
    const samples = await measure(postgres.url, sides);
    print({ bench: 'library', metrics: libraryMetrics(samples), rounds: ROUNDS, machine: machine() }, asJson);
    for (const side of sides) await side.close();
  } finally {
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** `--heap [runs]`: the long form. */
function heapRunsOf(args: readonly string[]): { readonly heapRuns: number | null; readonly rest: readonly string[] } {
  const at = args.indexOf('--heap');
  if (at < 0) return { heapRuns: null, rest: args };
  const given = Number(args[at + 1]);
  const isGiven = Number.isSafeInteger(given) && given >= 100;
  return { heapRuns: isGiven ? given : HEAP_RUNS, rest: args.toSpliced(at, isGiven ? 2 : 1) };
}

async function measureHeap(url: string, runs: number, asJson: boolean): Promise<void> {
  const database = await createDatabase(url, 'saga_bench');
  await migrate({ url: database, publication: false, library: true });
  const side = await sagaSide(database, { poolSize: POOL_SIZE, inFlight: IN_FLIGHT });
  const tell = ({ runs: done, bytes }: HeapSample): void => {
    process.stderr.write(`after ${done} runs: ${(bytes / 2 ** 20).toFixed(1)} MiB\n`);
  };
  const samples = await heapSamples(side, { runs, inFlight: IN_FLIGHT }, tell);
  await side.close();
  print({ bench: 'library --heap', metrics: heapMetrics(samples), rounds: 1, machine: machine() }, asJson);
}

/** A database for each system, so that neither meets the other's tables. */
async function openSides(url: string): Promise<readonly LibrarySide[]> {
  const [ours, theirs, bare] = await Promise.all(
    ['saga_bench', 'dbos_bench', 'bare_bench'].map((name) => createDatabase(url, name)),
  );
  if (ours === undefined || theirs === undefined || bare === undefined) throw new Error('three databases were made');
  for (const database of [ours, bare]) await migrate({ url: database, publication: false, library: true });
  return [
    await sagaSide(ours, { poolSize: POOL_SIZE, inFlight: IN_FLIGHT }),
    await dbosSide(theirs, POOL_SIZE),
    await bareEngineSide(bare, POOL_SIZE),
  ];
}

async function measure(url: string, sides: readonly LibrarySide[]): Promise<ReadonlyMap<string, SideSamples>> {
  let n = 0;
  const next = (): number => (n += 1);
  const nothing: SideSamples = { rates: [], singles: [], commitsPerRun: Number.NaN };
  const samples = sides.map(() => ({ rates: [] as number[], singles: [] as number[], commitsPerRun: 0 }));
  for (const side of sides) await rate(side, next, WARM_UP_MS);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, side] of sides.entries()) samples[index]?.rates.push(await rate(side, next, ROUND_MS));
  }
  // In turn, so that all meet the same moments of the machine.
  for (let single = 0; single < SINGLES; single += 1) {
    for (const [index, side] of sides.entries()) samples[index]?.singles.push(await timed(() => side.runOnce(next())));
  }
  for (const [index, side] of sides.entries()) {
    const sample = samples[index];
    if (sample !== undefined) sample.commitsPerRun = await commitsPerRun(url, side, next);
  }
  return new Map(sides.map(({ name }, index) => [name, samples[index] ?? nothing]));
}

/** Runs a second with 32 in flight, over about `ms`. */
async function rate(side: LibrarySide, next: () => number, ms: number): Promise<number> {
  const began = performance.now();
  let done = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() - began < ms) {
      await side.runOnce(next());
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  return (done / (performance.now() - began)) * 1_000;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Transactions that wrote: those alone get a number. */
async function commitsPerRun(url: string, side: LibrarySide, next: () => number): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const given = async (): Promise<number> => {
      const { rows } = await client.query<{ next: string }>(
        'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next',
      );
      return Number(rows[0]?.next);
    };
    const before = await given();
    await drive(Array.from({ length: COUNTED_RUNS }, next), 1, (run) => side.runOnce(run));
    return ((await given()) - before) / COUNTED_RUNS;
  } finally {
    await client.end();
  }
}

/** Answers its url. */
async function createDatabase(url: string, name: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.href;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
