import type { Lsn } from './replication/lsn.js';

/*
 * Owns: what has been received and is not yet safe, in order of commit, and the position that may be confirmed.
 *
 * L1  confirmed <= end LSN of the longest prefix of transactions whose every row is settled (acknowledged by Kafka,
 *     or dead and committed as such).
 * L2  the position of a keepalive is adopted only while nothing is open: no transaction half received, none unsettled.
 * -   confirmed never goes down.
 */

interface Transaction {
  endLsn: Lsn | null;
  unsettled: number;
  readonly commitTimeMs: number;
}

/** One row that waits. Settling it twice does nothing. */
export interface Ticket {
  readonly transaction: Transaction;
  readonly bytes: number;
  settled: boolean;
}

export class TxFifo {
  private readonly queue: Transaction[] = [];
  private head = 0;
  private current: Transaction | null = null;
  private confirmedLsn: Lsn;
  private keepaliveLsn: Lsn = 0n;
  private openRows = 0;
  private openBytes = 0;

  /** `advanced` hears each rise of `confirmed`; `real` = by transactions with rows, not by keepalives. */
  constructor(
    startLsn: Lsn,
    private readonly advanced: (real: boolean) => void = () => undefined,
  ) {
    this.confirmedLsn = startLsn;
  }

  get confirmed(): Lsn {
    return this.confirmedLsn;
  }

  get rows(): number {
    return this.openRows;
  }

  get bytes(): number {
    return this.openBytes;
  }

  get isIdle(): boolean {
    return this.current === null && this.head === this.queue.length;
  }

  /** Commit time of the oldest transaction that is not confirmed. */
  get oldestCommitTimeMs(): number | null {
    return this.queue[this.head]?.commitTimeMs ?? null;
  }

  begin(commitTimeMs: number): void {
    this.current = { endLsn: null, unsettled: 0, commitTimeMs };
    this.queue.push(this.current);
  }

  add(bytes: number): Ticket {
    if (this.current === null) throw new Error('a row outside of a transaction');
    this.current.unsettled += 1;
    this.openRows += 1;
    this.openBytes += bytes;
    return { transaction: this.current, bytes, settled: false };
  }

  settle(ticket: Ticket): void {
    if (ticket.settled) return;
    ticket.settled = true;
    ticket.transaction.unsettled -= 1;
    this.openRows -= 1;
    this.openBytes -= ticket.bytes;
    this.advance();
  }

  commit(endLsn: Lsn): void {
    if (this.current === null) throw new Error('a commit without a begin');
    this.current.endLsn = endLsn;
    this.current = null;
    this.advance();
  }

  /** Everything before this position has been received. It counts once nothing received before is open (L2). */
  keepalive(walEnd: Lsn): void {
    if (walEnd > this.keepaliveLsn) this.keepaliveLsn = walEnd;
    this.advance();
  }

  private advance(): void {
    const before = this.confirmedLsn;
    let real = false;
    for (let first = this.queue[this.head]; first !== undefined; first = this.queue[this.head]) {
      if (first.endLsn === null || first.unsettled > 0) break;
      this.raise(first.endLsn);
      real = true;
      this.head += 1;
    }
    if (this.head > 1024 && this.head * 2 > this.queue.length) {
      this.queue.splice(0, this.head);
      this.head = 0;
    }
    if (this.isIdle) this.raise(this.keepaliveLsn);
    if (this.confirmedLsn > before) this.advanced(real);
  }

  private raise(lsn: Lsn): void {
    if (lsn > this.confirmedLsn) this.confirmedLsn = lsn;
  }
}
