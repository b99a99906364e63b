import { setTimeout as sleep } from 'node:timers/promises';
import type { Collector } from './collector.js';
import type { Session } from './session.js';

/** A row of relay.sql. */
export interface RelayRow {
  readonly publication: boolean;
  readonly plugin: string | null;
  readonly ours: boolean | null;
  readonly active: boolean | null;
  readonly confirmed: string | null;
  readonly wal_status: string | null;
  readonly invalidation: string | null;
  readonly known: boolean;
  readonly published_before: string | null;
  readonly snapshot: string;
}

export interface RelayView {
  /** A relay has worked on this database, or a slot is there for it. */
  readonly used: boolean;
  /** Rows of transactions that this snapshot sees are published, says the relay; null = it says nothing. */
  readonly publishedBefore: string | null;
  readonly looked: string;
}

const SLOT_LOOKS = 4;
const SLOT_LOOK_MS = 1_000;
const CONFIRM_WAIT_MS = 10_000;
const CONFIRM_POLL_MS = 100;

/**
 * I7: how far the relay says that it has come. Read before the topics are: what it says now is in Kafka then.
 *
 * A snapshot, then a position in the log: once the slot is confirmed up to that position, every transaction that the
 * snapshot sees is. A relay that streams gets there in moments; of one that does not, its own last word counts.
 */
export async function examineRelay(session: Session, collector: Collector, slot: string): Promise<RelayView> {
  const row = await readSettled(session, slot);
  const used = row.known || row.plugin !== null;
  if (!used) return { used, publishedBefore: null, looked: 'no relay has worked here' };
  judgeSlot(row, slot, collector);
  const streams = row.active === true && (await confirmsAll(session, slot));
  const publishedBefore = streams ? row.snapshot : row.published_before;
  const position = row.confirmed === null ? 'nowhere' : `at ${row.confirmed}`;
  const how = streams ? 'all that was committed is confirmed' : 'what relay_state says is confirmed';
  return {
    used,
    publishedBefore,
    looked: `slot ${slot} ${position}, ${row.active === true ? 'streaming' : 'idle'}; ${how}`,
  };
}

/** A relay that makes its slot anew has none for moments. */
async function readSettled(session: Session, slot: string): Promise<RelayRow> {
  for (let looks = 1; ; looks += 1) {
    const [row] = await session.rows<RelayRow>('relay', [slot, 'baton_outbox']);
    if (row === undefined) throw new Error('the state of the relay cannot be read');
    if (!row.known || row.plugin !== null || looks >= SLOT_LOOKS) return row;
    await sleep(SLOT_LOOK_MS);
  }
}

export function judgeSlot(row: RelayRow, slot: string, collector: Collector): void {
  const add = (code: string, message: string): void => collector.add({ invariant: 'I7', code, message });
  if (row.plugin === null) add('SLOT_MISSING', `a relay has published from slot ${slot}, and the slot is gone`);
  else if (row.plugin !== 'pgoutput' || row.ours !== true) {
    add('SLOT_FOREIGN', `slot ${slot} is of another database or plugin (${row.plugin})`);
  } else if (row.wal_status === 'lost' || row.invalidation !== null) {
    add('SLOT_LOST', `slot ${slot} is invalid (${row.invalidation ?? 'lost'}): the log that it needs is gone`);
  } else if (row.wal_status === 'unreserved') {
    add('SLOT_IN_DANGER', `slot ${slot} needs log that the next checkpoint may remove`);
  }
  if (!row.publication)
    add('PUBLICATION_MISSING', 'the publication of the outbox is gone: nothing is told to the slot');
}

async function confirmsAll(session: Session, slot: string): Promise<boolean> {
  const [now] = await session.rows<{ position: string }>('wal-position', []);
  const until = performance.now() + CONFIRM_WAIT_MS;
  for (;;) {
    const [row] = await session.rows<{ reached: boolean }>('slot-reached', [slot, now?.position]);
    if (row?.reached === true) return true;
    if (performance.now() >= until) return false;
    await sleep(CONFIRM_POLL_MS);
  }
}
