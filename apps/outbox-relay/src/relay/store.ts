import { Pool, type PoolClient } from 'pg';
import type { OutboxRow } from './outbox-row.js';
import { formatLsn, parseLsn, type Lsn } from './replication/lsn.js';
import * as statements from './statements.js';

/** How far publishing is, as the database keeps it. */
export interface RelayState {
  readonly systemId: string | null;
  readonly endLsn: Lsn | null;
  readonly published: PublishedBefore | null;
}

/** Every row of a transaction that `snapshot` sees is published. */
export interface PublishedBefore {
  readonly snapshot: string;
  readonly takenAt: string;
}

export interface SlotInfo {
  readonly usable: boolean;
  readonly lost: boolean;
  readonly active: boolean;
  readonly confirmed: Lsn | null;
}

/** A snapshot that becomes true as PublishedBefore once `position` is confirmed. */
export interface Candidate extends PublishedBefore {
  readonly position: Lsn;
}

export interface Claim {
  readonly slot: string;
  readonly owner: string;
  readonly systemId: string;
  readonly timeline: number;
}

/** A transaction may stay open this long; older rows are not looked for after a loss of the slot. */
const MAX_TRANSACTION_SECONDS = 15 * 60;
const STATEMENT_TIMEOUT_MS = 60_000;
const FETCH_ROWS = 500;

/** The relay's tables and its view of the slot, over a plain pool. */
export class RelayStore {
  private readonly pool: Pool;

  constructor(url: string, applicationName: string, onError: (error: Error) => void) {
    this.pool = new Pool({
      connectionString: url,
      application_name: applicationName,
      max: 4,
      connectionTimeoutMillis: 5000,
      idleTimeoutMillis: 30_000,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      keepAlive: true,
    });
    this.pool.on('error', onError);
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  async findPublication(publication: string): Promise<{ readonly migrated: boolean; readonly published: boolean }> {
    const { rows } = await this.pool.query<{ migrated: boolean; published: boolean }>(statements.findPublication, [
      publication,
    ]);
    return rows[0] ?? { migrated: false, published: false };
  }

  async findSlot(slot: string): Promise<SlotInfo | null> {
    const { rows } = await this.pool.query<{
      plugin: string;
      ours: boolean;
      active: boolean;
      confirmed: string | null;
      lost: boolean;
    }>(statements.findSlot, [slot]);
    const row = rows[0];
    if (row === undefined) return null;
    return {
      usable: row.plugin === 'pgoutput' && row.ours,
      lost: row.lost,
      active: row.active,
      confirmed: row.confirmed === null ? null : parseLsn(row.confirmed),
    };
  }

  async readState(slot: string): Promise<RelayState | null> {
    const { rows } = await this.pool.query<{
      system_id: string | null;
      end_lsn: string | null;
      published_before: string | null;
      commit_ts: string | null;
    }>(statements.readRelayState, [slot]);
    const row = rows[0];
    if (row === undefined) return null;
    const known = row.published_before !== null && row.commit_ts !== null;
    return {
      systemId: row.system_id,
      endLsn: row.end_lsn === null ? null : parseLsn(row.end_lsn),
      published: known ? { snapshot: row.published_before ?? '', takenAt: row.commit_ts ?? '' } : null,
    };
  }

  /** The epoch that the writes of this relay carry from now on. */
  async claim(claim: Claim): Promise<string> {
    const { rows } = await this.pool.query<{ epoch: string }>(statements.claimRelayState, [
      claim.slot,
      claim.owner,
      claim.systemId,
      claim.timeline,
    ]);
    const row = rows[0];
    if (row === undefined) throw new Error('relay_state could not be claimed');
    return row.epoch;
  }

  /** null = another relay has claimed the state meanwhile. */
  async saveState(
    slot: string,
    epoch: string,
    state: { readonly endLsn: Lsn; readonly published: PublishedBefore | null },
  ): Promise<Candidate | null> {
    const { rows } = await this.pool.query<{ snapshot: string; taken_at: string; position: string }>(
      statements.saveRelayState,
      [slot, epoch, formatLsn(state.endLsn), state.published?.snapshot ?? null, state.published?.takenAt ?? null],
    );
    const row = rows[0];
    if (row === undefined) return null;
    return { snapshot: row.snapshot, takenAt: row.taken_at, position: parseLsn(row.position) };
  }

  /** In its own committed transaction, durable when it resolves. */
  async bury(row: OutboxRow, reason: string, commitLsn: Lsn | null): Promise<void> {
    const whole = { ...row, runSeq: row.runSeq.toString(), payload: row.payload.toString('utf8') };
    await this.pool.query(statements.buryRow, [
      row.id,
      row.runId,
      row.runSeq.toString(),
      row.topic,
      reason,
      JSON.stringify(whole),
      commitLsn === null ? null : formatLsn(commitLsn),
    ]);
  }

  /**
   * Have the transactions that ran when this was first asked all ended? A commit that is in the log can be invisible for
   * a moment; a snapshot taken after that sees it.
   */
  async snapshotNow(): Promise<string> {
    const { rows } = await this.pool.query<{ snapshot: string }>(statements.currentSnapshot);
    return rows[0]?.snapshot ?? '';
  }

  async haveEnded(snapshot: string): Promise<boolean> {
    const { rows } = await this.pool.query<{ passed: boolean }>(statements.oldestRunningXid, [snapshot]);
    return rows[0]?.passed ?? false;
  }

  /**
   * Reads the rows that `published` does not cover, in order, as one snapshot sees them: the exported one, or now's.
   * Returns that snapshot: what is covered when every row that was given has been settled.
   */
  async scan(
    options: { readonly exported: string | null; readonly published: PublishedBefore | null },
    onRows: (rows: readonly OutboxRow[]) => Promise<void>,
  ): Promise<PublishedBefore> {
    const client = await this.pool.connect();
    let broken: Error | undefined;
    // A connection that is out of the pool has no listener, and an error without one would end the process.
    const onError = (error: Error): void => {
      broken = error;
    };
    client.on('error', onError);
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      if (options.exported !== null) await client.query(`SET TRANSACTION SNAPSHOT '${options.exported}'`);
      const { rows } = await client.query<{ snapshot: string; taken_at: string }>(statements.currentSnapshot);
      const seen = rows[0];
      if (seen === undefined) throw new Error('no snapshot');
      await this.fetchAll(client, options.published, onRows);
      await client.query('COMMIT');
      return { snapshot: seen.snapshot, takenAt: seen.taken_at };
    } catch (error) {
      broken = error instanceof Error ? error : new Error(String(error));
      throw error;
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }

  private async fetchAll(
    client: PoolClient,
    published: PublishedBefore | null,
    onRows: (rows: readonly OutboxRow[]) => Promise<void>,
  ): Promise<void> {
    await client.query(statements.scanOutbox, [
      published?.snapshot ?? null,
      published?.takenAt ?? null,
      MAX_TRANSACTION_SECONDS,
    ]);
    for (;;) {
      const { rows } = await client.query<ScannedRow>(`FETCH ${FETCH_ROWS} FROM unpublished`);
      if (rows.length === 0) return;
      await onRows(rows.map(rowOf));
    }
  }
}

interface ScannedRow {
  readonly id: string;
  readonly run_id: string;
  readonly run_seq: string;
  readonly namespace: string;
  readonly topic: string;
  readonly type: string;
  readonly payload: string;
  readonly traceparent: string | null;
  readonly headers: string | null;
}

const rowOf = (row: ScannedRow): OutboxRow => ({
  id: row.id,
  runId: row.run_id,
  runSeq: BigInt(row.run_seq),
  namespace: row.namespace,
  topic: row.topic,
  type: row.type,
  payload: Buffer.from(row.payload, 'utf8'),
  traceparent: row.traceparent,
  headers: row.headers,
});
