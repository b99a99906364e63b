import type { StartBatch, Store } from '@baton/engine';
import { claimTasks, readClaimable } from './claims.js';
import { readCommands } from './commands.js';
import { committedRuns } from './committed.js';
import { integer, text, word } from './decode.js';
import { acquireLeases, renewLeases } from './leases.js';
import { withLockedRuns } from './locked.js';
import { loadNeeds } from './needs.js';
import { Database, DEFAULT_POOL_SIZE, type PoolOptions, type Session } from './pool.js';
import { getRun, listRuns, readHistory } from './queries.js';
import { decodeRuns, refColumns } from './runs.js';
import { writeStarts } from './starts.js';
import { decodeHeld, encodeBatch } from './write/batch.js';
import { encodeStep, heldAlone, wasDone } from './write/single.js';
import { RUN_STATUSES } from './words.js';

/** The part of the connections that people's questions may use; the rest is for the engine. */
const VIEW_SHARE = 0.25;
/**
 * No share of a large pool: it is large because each lane holds a connection while it locks, and needs one more to load
 * a definition meanwhile.
 */
const MOST_VIEWS = 4;

/** R30: what starts that must not wait for somebody's key wait all the same. */
const IMPATIENT_LOCK_MS = 50;
/** As many starts as the engine lets wait beside its lanes. */
const WAITING_STARTS = 2;

export function shareOut(size: number): { readonly engine: number; readonly views: number } {
  const views = Math.max(1, Math.min(MOST_VIEWS, Math.floor(size * VIEW_SHARE)));
  return { engine: Math.max(1, size - views), views };
}

/**
 * The engine's store over PostgreSQL. Owns its pools; `close` ends them. Two, because a long list or a large run must
 * never keep a commit waiting for a connection, one connection for starts that do not wait for locks, and two for those
 * that do.
 */
export function createPostgresStore(options: PoolOptions): Store {
  const size = shareOut(options.poolSize ?? DEFAULT_POOL_SIZE);
  const db = new Database({ ...options, poolSize: size.engine });
  const views = new Database({ ...options, poolSize: size.views });
  const timeouts = { ...options.timeouts, lockMs: IMPATIENT_LOCK_MS };
  // Both open their connections when they are asked for.
  const impatient = new Database({ ...options, timeouts, poolSize: 1 });
  const waiting = new Database({ ...options, poolSize: WAITING_STARTS });
  const startsOn = ({ isImpatient }: StartBatch): Database =>
    isImpatient === undefined ? db : isImpatient ? impatient : waiting;
  const run: Session['run'] = (name, values) => db.runRepeatable(name, values);
  return {
    async readRuns(refs) {
      return decodeRuns(await db.runRepeatable('read-runs', { runs: refColumns(refs) }), refs);
    },
    readNeeds: (requests, { withLeases = false } = {}) => loadNeeds(run, requests, withLeases ? 'seen' : 'absent'),
    readCommands: (refs) => readCommands(run, refs),
    async write(batch) {
      const single = encodeStep(batch);
      if (single !== null) return heldAlone(batch, wasDone(await db.runOnce('write-step', single)));
      const encoded = encodeBatch(batch);
      return decodeHeld(await db.runOnce(encoded.statement, encoded.values), encoded.runIds);
    },
    writeStarts: (batch) => writeStarts(startsOn(batch), batch),
    withLockedRuns: (refs, work, lockOptions) => withLockedRuns(db, refs, work, lockOptions),
    committedRuns: (batchId, refs) => committedRuns(db, batchId, refs),
    acquire: (calls) => acquireLeases(db, calls),
    heartbeat: (calls) => renewLeases(db, calls),
    claim: (call) => claimTasks(db, call),
    claimable: (namespace, definitions, limit) => readClaimable(db, namespace, definitions, limit),
    ...smallReads(db),
    ...pushes(db),
    getRun: (namespace, runId, withPayloads) => getRun(views, namespace, runId, withPayloads),
    listRuns: (query) => listRuns(views, query),
    history: (namespace, runId, afterSeq, limit) => readHistory(views, { namespace, runId }, afterSeq, limit),
    async close() {
      await Promise.all([db.close(), views.close(), impatient.close(), waiting.close()]);
    },
  };
}

function smallReads(db: Database): Pick<Store, 'loadDefinition' | 'deployedVersion' | 'statuses'> {
  return {
    async loadDefinition(namespace, id, version) {
      const [row] = await db.runRepeatable('load-definition', { namespace, id, version });
      return row === undefined ? undefined : text(row[0]);
    },
    async deployedVersion(namespace, id) {
      const [row] = await db.runRepeatable('deployed-version', { namespace, id });
      return row === undefined ? undefined : integer(row[0]);
    },
    async statuses(refs) {
      const rows = await db.runRepeatable('run-statuses', { runs: refColumns(refs) });
      return new Map(rows.map((row) => [text(row[0]), word(RUN_STATUSES, row[1])]));
    },
  };
}

/** R8, R21: a row that cannot be handled now is put off, so that it never holds up the others. */
function pushes(db: Database): Pick<Store, 'flagStuck' | 'pushTimer' | 'pushWake'> {
  return {
    async flagStuck(ref, reason) {
      await db.runRepeatable('flag-stuck', { ...ref, reason });
    },
    async pushTimer(namespace, runId, timerId) {
      const [row] = await db.runRepeatable('push-timer', { namespace, runId, timerId });
      return row === undefined ? 0 : integer(row[0]);
    },
    async pushWake(namespace, runId, taskId) {
      const [row] = await db.runRepeatable('push-wake', { namespace, runId, taskId });
      return row === undefined ? 0 : integer(row[0]);
    },
  };
}
