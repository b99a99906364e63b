import { costOf, OutboxColumns } from './outbox-row.js';
import type { Entry } from './publishing.js';
import type { ReplicationConnection } from './replication/connection.js';
import type { Lsn } from './replication/lsn.js';
import { PgOutputDecoder, type PgOutputHandler, type Relation, type Tuple } from './replication/pgoutput.js';
import { readStreamMessage, writeStandbyStatus } from './replication/wire.js';
import type { SessionGuard } from './session-guard.js';
import { TxFifo } from './tx-fifo.js';

/*
 * Owns: the stream of one session: rows out of it into lanes, and what the server is told back.
 *
 * - Rows are given out on arrival; their transaction is committed (protocol version 1).
 * - Status goes out when `confirmed` rises (not more often than each 100 ms), when the server asks, and on a timer.
 *   None of the three waits for parsing or for Kafka.
 * - L7: above the caps the socket is paused. The timer goes on, so that the server does not give us up.
 */

export interface StreamLimits {
  readonly maxBytes: number;
  readonly maxRows: number;
}

export interface StreamOptions {
  readonly startLsn: Lsn;
  readonly walSenderTimeoutMs: number;
  readonly limits: StreamLimits;
  readonly guard: SessionGuard;
  publish(entry: Entry): void;
  /** `real`: by transactions with rows, not only by keepalives. */
  confirmed(real: boolean): void;
  /** A row was published or buried; when its transaction committed. */
  acknowledged(commitTimeMs: number): void;
}

const STATUS_THROTTLE_MS = 100;
const TABLE_SCHEMA = 'baton';
const TABLE_PREFIX = 'outbox';

export class OutboxStream implements PgOutputHandler {
  readonly fifo: TxFifo;
  private readonly decoder = new PgOutputDecoder(this);
  private readonly columns = new Map<number, OutboxColumns>();
  private connection: ReplicationConnection | null = null;
  private statusTimer: NodeJS.Timeout | null = null;
  private throttle: NodeJS.Timeout | null = null;
  private lastStatusAt = 0;
  private lastHeardAt = performance.now();
  private received: Lsn;
  private serverEnd: Lsn;
  private commitLsn: Lsn = 0n;
  private paused = false;
  private closing = false;
  private pausedSince = 0;
  private pausedTotalMs = 0;

  constructor(private readonly options: StreamOptions) {
    this.received = options.startLsn;
    this.serverEnd = options.startLsn;
    this.fifo = new TxFifo(options.startLsn, (real) => {
      options.confirmed(real);
      this.statusSoon();
    });
  }

  get lagBytes(): number {
    return Number(this.serverEnd - this.fifo.confirmed);
  }

  get pausedMs(): number {
    return this.pausedTotalMs + (this.paused ? performance.now() - this.pausedSince : 0);
  }

  /** Status goes out from here on; call it when the stream has started. */
  attach(connection: ReplicationConnection): void {
    this.connection = connection;
    // Rows can come in the same chunk as the answer to the start.
    if (this.paused) connection.pause();
    const everyMs = Math.min(Math.floor(this.options.walSenderTimeoutMs / 3), 5000);
    this.statusTimer = setInterval(() => {
      this.watchSilence();
      this.sendStatus();
    }, everyMs);
    this.sendStatus();
  }

  detach(): void {
    if (this.statusTimer !== null) clearInterval(this.statusTimer);
    if (this.throttle !== null) clearTimeout(this.throttle);
    this.statusTimer = null;
    this.throttle = null;
    this.connection = null;
  }

  /** No more rows from now on; those that are under way go on. */
  stopReading(): void {
    this.closing = true;
    if (!this.paused) this.pause();
  }

  receive(chunk: Buffer): void {
    const { guard } = this.options;
    if (guard.signal.aborted) return;
    this.lastHeardAt = performance.now();
    try {
      guard.check();
      const message = readStreamMessage(chunk);
      if (message.kind === 'data') {
        this.heard(message.start, message.walEnd);
        this.decoder.decode(message.payload);
      } else if (message.kind === 'keepalive') {
        this.heard(message.walEnd, message.walEnd);
        this.fifo.keepalive(message.walEnd);
        if (message.replyRequested) this.sendStatus();
      }
    } catch (error) {
      guard.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  begin(commitLsn: Lsn, commitTimeMs: number): void {
    this.commitLsn = commitLsn;
    this.fifo.begin(commitTimeMs);
  }

  relation(relation: Relation): void {
    if (isOutbox(relation)) this.columns.set(relation.oid, new OutboxColumns(relation));
  }

  insert(relation: Relation, tuple: Tuple): void {
    const columns = this.columns.get(relation.oid);
    if (columns === undefined) return;
    const row = columns.read(tuple);
    const ticket = this.fifo.add(costOf(row));
    const settle = (): void => {
      this.options.acknowledged(ticket.transaction.commitTimeMs);
      this.fifo.settle(ticket);
      if (this.paused && !this.closing && this.isBelowHalf()) this.resume();
    };
    this.options.publish({ row, commitLsn: this.commitLsn, settle });
    if (!this.paused && this.isAboveCap()) this.pause();
  }

  commit(endLsn: Lsn): void {
    this.fifo.commit(endLsn);
  }

  sendStatus(): void {
    this.lastStatusAt = performance.now();
    this.connection?.send(
      writeStandbyStatus({ received: this.received, confirmed: this.fifo.confirmed, nowMs: Date.now() }),
    );
  }

  private statusSoon(): void {
    if (this.throttle !== null || this.connection === null) return;
    const waitMs = this.lastStatusAt + STATUS_THROTTLE_MS - performance.now();
    if (waitMs <= 0) {
      this.sendStatus();
      return;
    }
    this.throttle = setTimeout(() => {
      this.throttle = null;
      this.sendStatus();
    }, waitMs);
  }

  /** The server sends a keepalive after half its timeout at the latest: a longer silence is a dead connection. */
  private watchSilence(): void {
    const silentMs = performance.now() - this.lastHeardAt;
    if (!this.paused && silentMs > this.options.walSenderTimeoutMs * 3) {
      this.options.guard.fail(new Error(`nothing heard from the server for ${Math.round(silentMs)} ms`));
    }
  }

  private heard(position: Lsn, serverEnd: Lsn): void {
    if (position > this.received) this.received = position;
    if (serverEnd > this.serverEnd) this.serverEnd = serverEnd;
  }

  private isAboveCap(): boolean {
    const { maxBytes, maxRows } = this.options.limits;
    return this.fifo.bytes > maxBytes || this.fifo.rows > maxRows;
  }

  private isBelowHalf(): boolean {
    const { maxBytes, maxRows } = this.options.limits;
    return this.fifo.bytes < maxBytes / 2 && this.fifo.rows < maxRows / 2;
  }

  private pause(): void {
    this.paused = true;
    this.pausedSince = performance.now();
    this.connection?.pause();
  }

  private resume(): void {
    this.paused = false;
    this.pausedTotalMs += performance.now() - this.pausedSince;
    this.lastHeardAt = performance.now();
    this.connection?.resume();
  }
}

/** The root, or a partition when the publication does not publish by the root. */
const isOutbox = ({ schema, table }: Relation): boolean =>
  schema === TABLE_SCHEMA && (table === TABLE_PREFIX || /^outbox_(\d+|default)$/.test(table));
