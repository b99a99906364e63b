import type { KeyHolder, LockedSession, LockOptions, RunRef, StoredRun } from '@baton/engine';
import { text, word } from './decode.js';
import { loadNeeds } from './needs.js';
import { againIfOvertaken, refuseIfOvertaken } from './overtaken.js';
import type { Database, Session } from './pool.js';
import { readCommands } from './commands.js';
import { decodeRuns, refColumns } from './runs.js';
import { decodeHeld, encodeBatch } from './write/batch.js';
import { RUN_STATUSES } from './words.js';

/** The lock-first way in (ADR 0001): keys, then runs by id, then reads of a later snapshot, then `work` (R7). */
export async function withLockedRuns<T>(
  db: Database,
  refs: readonly RunRef[],
  work: (session: LockedSession) => Promise<T>,
  { keysFirst = false, skipLocked = false }: LockOptions = {},
): Promise<T> {
  return againIfOvertaken(db, async (session) => {
    const runs = refColumns(refs);
    const keys = keysFirst ? await lockBusinessKeys(session, refs) : NO_KEYS;
    const rows = await session.run(skipLocked ? 'lock-free-runs' : 'lock-runs', { runs });
    await refuseIfOvertaken(session, rows);
    const locked = new Set(rows.map((row) => text(row[0])));
    const stored = decodeRuns(await session.run('read-runs', { runs }), refs);
    return work(lockedSession(session, stored, locked, keys));
  });
}

function lockedSession(
  session: Session,
  stored: ReadonlyMap<string, StoredRun>,
  locked: ReadonlySet<string>,
  keys: LockedKeys,
): LockedSession {
  const run: Session['run'] = (name, values) => session.run(name, values);
  return {
    runs: new Map([...stored].filter(([runId]) => locked.has(runId))),
    skipped: new Set([...stored.keys()].filter((runId) => !locked.has(runId))),
    keyHolders: keys.holders,
    takeKeys: (refs) => takeKeys(session, refs, keys),
    readNeeds: (requests) => loadNeeds(run, requests, 'locked'),
    readCommands: (refs) => readCommands(run, refs),
    async write(batch) {
      const encoded = encodeBatch(batch);
      return decodeHeld(await session.run(encoded.statement, encoded.values), encoded.runIds);
    },
  };
}

interface BusinessKey {
  readonly namespace: string;
  readonly kind: string;
  readonly key: string;
  readonly requestHash: string;
}

interface LockedKeys {
  readonly holders: ReadonlyMap<string, KeyHolder>;
  readonly byRun: ReadonlyMap<string, BusinessKey>;
}

const NO_KEYS: LockedKeys = { holders: new Map(), byRun: new Map() };

async function lockBusinessKeys(session: Session, refs: readonly RunRef[]): Promise<LockedKeys> {
  const namespaces = new Map(refs.map((ref) => [ref.runId, ref.namespace]));
  const byRun = new Map<string, BusinessKey>();
  const others = new Map<string, { readonly runId: string; readonly namespace: string }>();
  for (const row of await session.run('lock-business-keys', { runs: refColumns(refs) })) {
    const runId = text(row[0]);
    const namespace = namespaces.get(runId) ?? '';
    byRun.set(runId, { namespace, kind: text(row[2]), key: text(row[3]), requestHash: text(row[4]) });
    if (text(row[1]) !== runId) others.set(runId, { runId: text(row[1]), namespace });
  }
  return { holders: await readHolders(session, others), byRun };
}

async function readHolders(
  session: Session,
  others: ReadonlyMap<string, RunRef>,
): Promise<ReadonlyMap<string, KeyHolder>> {
  if (others.size === 0) return new Map();
  const rows = await session.run('run-statuses', { runs: refColumns([...others.values()]) });
  const statuses = new Map(rows.map((row) => [text(row[0]), word(RUN_STATUSES, row[1])]));
  const holders = new Map<string, KeyHolder>();
  for (const [runId, other] of others) {
    const status = statuses.get(other.runId);
    if (status !== undefined) holders.set(runId, { runId: other.runId, status });
  }
  return holders;
}

async function takeKeys(session: Session, refs: readonly RunRef[], keys: LockedKeys): Promise<void> {
  const own = refs.flatMap((ref) => {
    const key = keys.byRun.get(ref.runId);
    return key === undefined ? [] : [{ ...key, runId: ref.runId }];
  });
  if (own.length === 0) return;
  await session.run('take-keys', {
    keys: {
      namespace: own.map((key) => key.namespace),
      kind: own.map((key) => key.kind),
      key: own.map((key) => key.key),
      runId: own.map((key) => key.runId),
      requestHash: own.map((key) => key.requestHash),
    },
  });
}
