import type { ExistingStart, RunStartWrite } from '@baton/engine';
import type { RunStatus } from '@baton/core';
import { text, word } from './decode.js';
import type { Row, Session } from './pool.js';
import { RUN_STATUSES } from './words.js';
import { isTerminal } from './write/run-rows.js';

/** One row of run_keys that a start wants (R24). */
export interface WantedKey {
  readonly start: RunStartWrite;
  readonly reason: ExistingStart['reason'];
  readonly namespace: string;
  readonly kind: string;
  readonly key: string;
  readonly expiresInMs: number | null;
}

interface StoredKey {
  readonly runId: string;
  readonly requestHash: string;
}

/**
 * A client's run id is also kept as a key, since that is what waits for a start in flight with the same id and what
 * remembers its request. Ids older than 24 hours are refused before they come here.
 */
const RUN_ID_KEY_MS = 48 * 3_600_000;

export function keysOf(start: RunStartWrite): readonly WantedKey[] {
  const { namespace, runId } = start.write;
  const shared = { start, namespace, expiresInMs: null };
  const keys: WantedKey[] = [];
  if (start.idempotencyKey !== null) {
    keys.push({ ...shared, reason: 'idempotency-key', kind: 'idempotency', key: start.idempotencyKey });
  }
  if (start.clientRunId) {
    keys.push({ ...shared, reason: 'run-id', kind: 'run-id', key: runId, expiresInMs: RUN_ID_KEY_MS });
  }
  if (start.businessKey !== null) {
    keys.push({
      ...shared,
      reason: 'business-key',
      kind: `business:${start.definitionId}`,
      key: start.businessKey,
    });
  }
  return keys;
}

export function identityOf(key: { readonly namespace: string; readonly kind: string; readonly key: string }): string {
  return `${key.namespace}\n${key.kind}\n${key.key}`;
}

/** Lock order (R7). */
export function sortKeys(keys: readonly WantedKey[]): readonly WantedKey[] {
  return [...keys].sort((a, b) => (identityOf(a) < identityOf(b) ? -1 : 1));
}

export interface ClaimedKeys {
  readonly winners: readonly RunStartWrite[];
  readonly existing: ReadonlyMap<string, ExistingStart>;
}

/** Somebody removed a key between two statements: everything again. */
export class KeyVanishedError extends Error {
  constructor() {
    super('a key of this start was removed meanwhile');
    this.name = 'KeyVanishedError';
  }
}

/**
 * R24, R7: keys before runs, in one order everywhere. Inserting waits for a start in flight with the same key; what was
 * there already is locked and read, and taken over if it is a business key of a run that has ended.
 */
export async function claimKeys(session: Session, starts: readonly RunStartWrite[]): Promise<ClaimedKeys> {
  const wanted = sortKeys(starts.flatMap(keysOf));
  if (wanted.length === 0) return { winners: starts, existing: new Map() };
  const inserted = new Set(
    (await session.run('insert-keys', { keys: keyColumns(wanted) })).map((row) => identityOfRow(row)),
  );
  const taken = wanted.filter((key) => !inserted.has(identityOf(key)));
  const { existing, takeOver } = await judgeTaken(session, taken);
  for (const [runId, found] of await foreignRunIds(session, starts)) {
    if (!existing.has(runId)) existing.set(runId, found);
  }
  const refused = wanted.filter((key) => existing.has(key.start.write.runId) && inserted.has(identityOf(key)));
  if (refused.length > 0) await session.run('delete-keys', { keys: keyColumns(refused) });
  const take = takeOver.filter((key) => !existing.has(key.start.write.runId));
  if (take.length > 0) await session.run('take-keys', { keys: keyColumns(take) });
  return { winners: starts.filter((start) => !existing.has(start.write.runId)), existing };
}

/** In this order: the same request again is told apart from another that holds the business key. */
const REASONS: readonly ExistingStart['reason'][] = ['idempotency-key', 'run-id', 'business-key'];

async function judgeTaken(session: Session, taken: readonly WantedKey[]) {
  const existing = new Map<string, ExistingStart>();
  const takeOver: WantedKey[] = [];
  if (taken.length === 0) return { existing, takeOver };
  const stored = new Map<string, StoredKey>();
  for (const row of await session.run('lock-keys', { keys: keyColumns(taken) })) {
    stored.set(identityOfRow(row), { runId: text(row[3]), requestHash: text(row[4]) });
  }
  // A new statement, so it sees what was committed while the locks were waited for.
  const statuses = await readStatuses(session, taken, stored);
  for (const key of [...taken].sort((a, b) => REASONS.indexOf(a.reason) - REASONS.indexOf(b.reason))) {
    const found = stored.get(identityOf(key));
    if (found === undefined) throw new KeyVanishedError();
    const status = statuses.get(found.runId);
    // A run that is no longer there has been dropped with its partition: its key is free.
    const free = status === undefined || (key.reason === 'business-key' && isTerminal(status));
    if (free) takeOver.push(key);
    else if (!existing.has(key.start.write.runId)) {
      existing.set(key.start.write.runId, { reason: key.reason, ...found, status });
    }
  }
  return { existing, takeOver };
}

async function readStatuses(
  session: Session,
  taken: readonly WantedKey[],
  stored: ReadonlyMap<string, StoredKey>,
): Promise<ReadonlyMap<string, RunStatus>> {
  const named = taken.flatMap((key) => {
    const found = stored.get(identityOf(key));
    return found === undefined ? [] : [{ runId: found.runId, namespace: key.namespace }];
  });
  const runs = { runId: named.map((run) => run.runId), namespace: named.map((run) => run.namespace) };
  const rows = await session.run('run-statuses', { runs });
  return new Map(rows.map((row) => [text(row[0]), word(RUN_STATUSES, row[1])]));
}

/** A run id of the caller's that belongs to a run which was not started with it: of the platform, or of a stranger. */
async function foreignRunIds(
  session: Session,
  starts: readonly RunStartWrite[],
): Promise<readonly (readonly [string, ExistingStart])[]> {
  const runIds = starts.filter((start) => start.clientRunId).map((start) => start.write.runId);
  if (runIds.length === 0) return [];
  const rows = await session.run('read-run-owners', { runIds });
  return rows.map((row) => {
    const runId = text(row[0]);
    return [runId, { reason: 'run-id', runId, requestHash: '', status: word(RUN_STATUSES, row[1]) }] as const;
  });
}

function identityOfRow(row: Row): string {
  return identityOf({ namespace: text(row[0]), kind: text(row[1]), key: text(row[2]) });
}

/** Sorted by identity beforehand (R7). */
export function keyColumns(keys: readonly WantedKey[]) {
  return {
    namespace: keys.map((key) => key.namespace),
    kind: keys.map((key) => key.kind),
    key: keys.map((key) => key.key),
    runId: keys.map((key) => key.start.write.runId),
    requestHash: keys.map((key) => key.start.requestHash),
    expiresInMs: keys.map((key) => key.expiresInMs),
  };
}
