import { setTimeout as sleep } from 'node:timers/promises';
import type { BusLog } from '@baton/bus-kafka';
import { costOf, type OutboxRow } from './outbox-row.js';
import type { Guard } from './patience.js';
import { SessionOver } from './patience.js';
import type { Entry } from './publishing.js';
import { formatLsn, type Lsn } from './replication/lsn.js';
import { ReplicationConnection, type ReplicationOptions, type SystemIdentity } from './replication/connection.js';
import type { PublishedBefore, RelayStore, SlotInfo } from './store.js';

/*
 * Owns: everything before the first streamed row. One attempt ends with a stream, or with nothing because another
 * relay has the slot (the slot is the mutex).
 *
 * Nothing that was committed may fall between the slots: the stream tells all that was committed after the slot's
 * position, and what was committed before it is covered by relay_state. Where it is not (a slot that was just made, lost,
 * dropped, or made by somebody else: B100, R26) the rows of the table that `published_before` does not see are
 * published first. Rows can be published twice by that, never out of order: the stream starts afterwards.
 */

export type Phase =
  | 'starting'
  | 'waiting-for-publication'
  | 'standby'
  | 'creating-slot'
  | 'catching-up'
  | 'streaming'
  | 'reconnecting'
  | 'stopped';

export interface AttachOptions {
  readonly store: RelayStore;
  readonly slot: string;
  readonly publication: string;
  readonly replication: ReplicationOptions;
  readonly guard: Guard;
  readonly log: BusLog;
  /** The highest position that this process has confirmed: a slot that is not beyond it is the one it knows. */
  readonly lastConfirmed: { readonly systemId: string; readonly lsn: Lsn } | null;
  /** The last stream said that the publication does not exist, though it does: the slot is older than it (B101). */
  readonly slotIsTooOld: boolean;
  phase(phase: Phase, detail?: string): void;
  publish(entry: Entry): void;
  /** Makes the handler of the stream that starts behind this position. */
  open(startLsn: Lsn): (chunk: Buffer) => void;
}

export interface Attachment {
  readonly connection: ReplicationConnection;
  readonly identity: SystemIdentity;
  readonly startLsn: Lsn;
  /** What relay_state is to say from now on. */
  readonly published: PublishedBefore | null;
  readonly caughtUp: boolean;
}

const PUBLICATION_POLL_MS = 500;
const STANDBY_POLL_MS = 250;
const INVISIBLE_COMMIT_WAIT_MS = 300;
const CATCH_UP_ROWS_UNDER_WAY = 5000;
const CATCH_UP_BYTES_UNDER_WAY = 32 * 1024 * 1024;
const OBJECT_IN_USE = '55006';
const DUPLICATE_OBJECT = '42710';

/** R26, B101: a slot made before its publication stays broken for ever, so the slot waits. */
export async function waitForPublication(options: AttachOptions): Promise<void> {
  const { store, publication, guard, log } = options;
  let told = '';
  for (;;) {
    guard.check();
    const found = await store.findPublication(publication);
    if (found.migrated && found.published) return;
    const detail = found.migrated
      ? `publication ${publication} does not exist: run "baton migrate up"`
      : 'the schema is missing or too old: run "baton migrate up"';
    options.phase('waiting-for-publication', detail);
    if (told !== detail) log.warn(detail, { slot: options.slot });
    told = detail;
    await wait(PUBLICATION_POLL_MS, guard);
  }
}

/** Waits as standby until the stream is this process's. */
export async function attach(options: AttachOptions): Promise<Attachment> {
  for (;;) {
    options.guard.check();
    const attachment = await attempt(options);
    if (attachment !== null) return attachment;
    options.phase('standby', 'another relay has the slot');
    await wait(STANDBY_POLL_MS, options.guard);
  }
}

async function attempt(options: AttachOptions): Promise<Attachment | null> {
  const slot = await options.store.findSlot(options.slot);
  if (slot?.active === true) return null;
  if (slot !== null && !slot.usable) {
    throw new Error(`slot ${options.slot} belongs to another database or plugin; drop it or configure another name`);
  }
  const connection = await ReplicationConnection.open(options.replication);
  // The creation of a slot waits for running transactions, however long they run.
  options.guard.signal.addEventListener('abort', () => connection.destroy(), { once: true });
  try {
    const identity = await connection.identify();
    const prepared =
      slot === null || slot.lost || options.slotIsTooOld
        ? await makeSlot(options, connection, { old: slot, identity })
        : await resume(options, identity, slot);
    await connection.stream(options.slot, options.publication, options.open(prepared.startLsn));
    return { connection, identity, ...prepared };
  } catch (error) {
    connection.destroy();
    const code = (error as { readonly code?: unknown }).code;
    if (code === OBJECT_IN_USE || code === DUPLICATE_OBJECT) return null;
    throw error;
  }
}

type Prepared = Pick<Attachment, 'startLsn' | 'published' | 'caughtUp'>;

/** A new slot, and everything committed before it, as its exported snapshot sees it. */
async function makeSlot(
  options: AttachOptions,
  connection: ReplicationConnection,
  from: { readonly old: SlotInfo | null; readonly identity: SystemIdentity },
): Promise<Prepared> {
  const { old, identity } = from;
  const state = await options.store.readState(options.slot);
  const isLoss = old !== null || (state !== null && state.endLsn !== null);
  if (isLoss) {
    options.log.error('SLOT_LOST: the slot is gone; rows that may not be published are read from the table', {
      slot: options.slot,
      invalidated: old?.lost === true,
      older_than_publication: options.slotIsTooOld,
    });
  }
  options.phase('creating-slot', isLoss ? 'SLOT_LOST' : 'waits for the transactions that are running');
  if (old !== null) await connection.dropSlot(options.slot);
  const created = await connection.createSlot(options.slot);
  options.log.info('replication slot created', { slot: options.slot, at: formatLsn(created.consistentPoint) });
  // Transaction ids mean something only in the cluster that they were given out in.
  const known = state?.systemId === identity.systemId ? state.published : null;
  options.phase('catching-up', isLoss ? 'SLOT_LOST' : 'rows from before the slot');
  const published = await catchUp(options, { exported: created.snapshot, published: known });
  return { startLsn: created.consistentPoint, published, caughtUp: true };
}

/** The slot that is there. Is everything before its position published, as far as is known? */
async function resume(options: AttachOptions, identity: SystemIdentity, slot: SlotInfo): Promise<Prepared> {
  const startLsn = slot.confirmed ?? 0n;
  const state = await options.store.readState(options.slot);
  const known = state?.systemId === identity.systemId ? state : null;
  const mine = options.lastConfirmed?.systemId === identity.systemId ? options.lastConfirmed.lsn : 0n;
  const saved = known?.endLsn ?? 0n;
  const covered = saved > mine ? saved : mine;
  if (startLsn <= covered) return { startLsn, published: known?.published ?? null, caughtUp: false };
  options.log.info('the slot is ahead of what is known to be published; reading the rest from the table', {
    slot: options.slot,
    slot_at: formatLsn(startLsn),
    known: formatLsn(covered),
  });
  options.phase('catching-up', 'the slot is ahead of relay_state');
  await waitForInvisibleCommits(options);
  const published = await catchUp(options, { exported: null, published: known?.published ?? null });
  return { startLsn, published, caughtUp: true };
}

/**
 * A commit that is in the log, and so behind the slot's position, may be invisible for a moment. Transactions that run
 * now have ended when the oldest running one is newer than all of them; a long one is not waited for beyond a limit.
 */
async function waitForInvisibleCommits(options: AttachOptions): Promise<void> {
  const before = await options.store.snapshotNow();
  const until = performance.now() + INVISIBLE_COMMIT_WAIT_MS;
  while (!(await options.store.haveEnded(before)) && performance.now() < until) await wait(20, options.guard);
}

async function catchUp(
  options: AttachOptions,
  from: { readonly exported: string | null; readonly published: PublishedBefore | null },
): Promise<PublishedBefore> {
  const progress = new Progress(options.guard);
  let rows = 0;
  const seen = await options.store.scan(from, async (page) => {
    for (const row of page) options.publish(progress.entry(row));
    rows += page.length;
    await progress.below(CATCH_UP_ROWS_UNDER_WAY, CATCH_UP_BYTES_UNDER_WAY);
  });
  await progress.below(0, 0);
  if (rows > 0) options.log.info('rows of the table published', { slot: options.slot, rows });
  return seen;
}

/** Counts what is under way, and waits for it to become less. */
class Progress {
  private rows = 0;
  private bytes = 0;
  private wake: (() => void) | null = null;

  constructor(private readonly guard: Guard) {
    guard.signal.addEventListener('abort', () => this.wake?.(), { once: true });
  }

  entry(row: OutboxRow): Entry {
    const cost = costOf(row);
    this.rows += 1;
    this.bytes += cost;
    const settle = (): void => {
      this.rows -= 1;
      this.bytes -= cost;
      this.wake?.();
    };
    return { row, commitLsn: null, settle };
  }

  async below(rows: number, bytes: number): Promise<void> {
    while (this.rows > rows || this.bytes > bytes) {
      this.guard.check();
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
      this.wake = null;
    }
    this.guard.check();
  }
}

async function wait(ms: number, guard: Guard): Promise<void> {
  try {
    await sleep(ms, undefined, { signal: guard.signal });
  } catch {
    throw new SessionOver('the session ended while it waited');
  }
  guard.check();
}
