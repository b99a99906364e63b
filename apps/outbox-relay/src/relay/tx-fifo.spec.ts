import fc from 'fast-check';
import { TxFifo, type Ticket } from './tx-fifo.js';

describe('The position that is confirmed', () => {
  it('is the end of the longest prefix of transactions whose every row is settled (L1)', () => {
    const fifo = new TxFifo(100n);
    fifo.begin(0);
    const first = fifo.add(1);
    fifo.commit(200n);
    fifo.begin(0);
    const second = fifo.add(1);
    fifo.commit(300n);
    fifo.settle(second);
    expect(fifo.confirmed).toBe(100n);
    fifo.settle(first);
    expect(fifo.confirmed).toBe(300n);
  });

  it('does not follow rows that are acknowledged before their commit has come', () => {
    const fifo = new TxFifo(100n);
    fifo.begin(0);
    fifo.settle(fifo.add(1));
    fifo.keepalive(900n);
    expect(fifo.confirmed).toBe(100n);
    fifo.commit(200n);
    expect(fifo.confirmed).toBe(900n);
  });

  it('follows keepalives only while nothing is open (L2, B95)', () => {
    const fifo = new TxFifo(100n);
    fifo.keepalive(150n);
    expect(fifo.confirmed).toBe(150n);
    fifo.begin(0);
    const row = fifo.add(1);
    fifo.commit(200n);
    for (let lsn = 201n; lsn < 260n; lsn += 1n) fifo.keepalive(lsn);
    expect(fifo.confirmed).toBe(150n);
    fifo.settle(row);
    // Everything before the last keepalive had been received, and is settled now.
    expect(fifo.confirmed).toBe(259n);
  });

  it('O2: never goes down', () => {
    const fifo = new TxFifo(1n << 33n);
    fifo.keepalive(5n);
    fifo.begin(0);
    fifo.commit(7n);
    expect(fifo.confirmed).toBe(1n << 33n);
  });

  it('passes empty transactions', () => {
    const fifo = new TxFifo(0n);
    fifo.begin(0);
    fifo.commit(10n);
    expect(fifo.confirmed).toBe(10n);
    expect(fifo.isIdle).toBe(true);
  });

  it('settles a row once', () => {
    const fifo = new TxFifo(0n);
    fifo.begin(0);
    const one = fifo.add(7);
    fifo.add(7);
    fifo.settle(one);
    fifo.settle(one);
    fifo.commit(10n);
    expect(fifo.confirmed).toBe(0n);
    expect(fifo).toMatchObject({ rows: 1, bytes: 7 });
  });
});

/** Random histories: the model keeps every transaction and looks at all of them each time. */
type Step =
  | { readonly kind: 'begin' }
  | { readonly kind: 'row' }
  | { readonly kind: 'commit'; readonly by: number }
  | { readonly kind: 'settle'; readonly which: number }
  | { readonly kind: 'keepalive'; readonly by: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.constant({ kind: 'begin' as const }),
  { weight: 3, arbitrary: fc.constant({ kind: 'row' as const }) },
  fc.record({ kind: fc.constant('commit' as const), by: fc.integer({ min: 1, max: 5 }) }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('settle' as const), which: fc.nat(200) }) },
  fc.record({ kind: fc.constant('keepalive' as const), by: fc.integer({ min: 0, max: 3 }) }),
);

interface ModelTransaction {
  end: bigint | null;
  readonly open: Set<Ticket>;
}

class Model {
  readonly fifo = new TxFifo(1000n);
  readonly transactions: ModelTransaction[] = [];
  private readonly tickets: { readonly ticket: Ticket; readonly of: ModelTransaction }[] = [];
  private position = 1000n;
  lastKeepalive = 0n;

  apply(next: Step): void {
    const current = this.transactions.at(-1);
    const isOpen = current !== undefined && current.end === null;
    if (next.kind === 'begin' && !isOpen) {
      this.transactions.push({ end: null, open: new Set() });
      this.fifo.begin(0);
    } else if (next.kind === 'row' && isOpen) {
      const ticket = this.fifo.add(1);
      current.open.add(ticket);
      this.tickets.push({ ticket, of: current });
    } else if (next.kind === 'commit' && isOpen) {
      this.position += BigInt(next.by);
      current.end = this.position;
      this.fifo.commit(this.position);
    } else if (next.kind === 'settle' && this.tickets.length > 0) {
      const chosen = this.tickets[next.which % this.tickets.length];
      chosen?.of.open.delete(chosen.ticket);
      if (chosen) this.fifo.settle(chosen.ticket);
    } else if (next.kind === 'keepalive') {
      this.position += BigInt(next.by);
      this.lastKeepalive = this.position;
      this.fifo.keepalive(this.position);
    }
  }
}

describe('Under any order of rows, commits, acknowledgements and keepalives', () => {
  it('nothing is confirmed behind a row that is not settled, and everything is when all are', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const model = new Model();
        let before = model.fifo.confirmed;
        for (const next of steps) {
          model.apply(next);
          const { confirmed } = model.fifo;
          expect(confirmed >= before).toBe(true);
          before = confirmed;
          const firstOpen = model.transactions.findIndex((tx) => tx.end === null || tx.open.size > 0);
          if (firstOpen >= 0) {
            const prefixEnd = model.transactions[firstOpen - 1]?.end ?? 1000n;
            const bound = prefixEnd > model.lastKeepalive ? prefixEnd : model.lastKeepalive;
            // A keepalive counts only if it came before the first open transaction began.
            const end = model.transactions[firstOpen]?.end;
            if (end != null) expect(confirmed < end).toBe(true);
            expect(confirmed <= bound).toBe(true);
          } else {
            const last = model.transactions.at(-1)?.end ?? 1000n;
            expect(confirmed).toBe(
              last > model.lastKeepalive ? last : model.lastKeepalive > 1000n ? model.lastKeepalive : 1000n,
            );
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
