import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@baton/testkit';
import type { LibraryFleet } from './library-fleet.js';

/** An order that was placed, and how its saga must end. */
export interface PlacedOrder {
  readonly orderId: string;
  readonly runId: string;
  readonly kind: string;
  readonly expected: string;
}

interface Kind {
  readonly name: string;
  readonly input: object;
  readonly expected: string;
}

const ITEMS = [{ sku: 'lamp', quantity: 2, price: 19.9 }];

const KINDS: readonly Kind[] = [
  { name: 'accepted', input: {}, expected: 'SUCCEEDED' },
  { name: 'payment declined', input: { payment: 'decline' }, expected: 'COMPENSATED' },
  { name: 'shipping fails twice', input: { shipping: 'fail-twice' }, expected: 'SUCCEEDED' },
  { name: 'nobody ships it', input: { shipping: 'refuse' }, expected: 'COMPENSATED' },
  { name: 'accepted', input: {}, expected: 'SUCCEEDED' },
  {
    name: 'nothing in stock',
    input: { items: [{ sku: 'out-of-stock', quantity: 1, price: 1 }] },
    expected: 'FAILED',
  },
];

export interface LoadOptions {
  readonly orders: number;
  /** Runs that may be open at one time: there is always something to lose. */
  readonly open: number;
  readonly random: () => number;
  /** How long one order may take to be placed, faults included. */
  readonly patienceMs?: number;
}

const PLACERS = 8;

/** Places orders at processes that come and go; the same order again, at another one, until one has taken it. */
export class OrderLoad {
  private placed = 0;
  private openRuns = 0;
  private isDone = false;

  constructor(
    private readonly fleet: LibraryFleet,
    private readonly options: LoadOptions,
  ) {}

  async place(): Promise<readonly PlacedOrder[]> {
    const watch = this.watch();
    const orders: PlacedOrder[] = [];
    const placer = async (): Promise<void> => {
      for (let index = this.next(); index !== undefined; index = this.next()) {
        while (this.openRuns >= this.options.open) await delay(50);
        orders.push(await this.one(index));
      }
    };
    try {
      await Promise.all(Array.from({ length: PLACERS }, placer));
      return orders;
    } finally {
      this.isDone = true;
      await watch;
    }
  }

  private next(): number | undefined {
    if (this.placed >= this.options.orders) return undefined;
    this.placed += 1;
    return this.placed - 1;
  }

  private async one(index: number): Promise<PlacedOrder> {
    const kind = KINDS[index % KINDS.length] ?? { name: '', input: {}, expected: '' };
    const orderId = `C-${index}`;
    const body = JSON.stringify({ orderId, customer: 'ada@example.com', items: ITEMS, ...kind.input });
    const runId = await eventually(() => this.post(body), {
      timeoutMs: this.options.patienceMs ?? 120_000,
      intervalMs: 50,
      what: `order ${orderId} is taken`,
    });
    return { orderId, runId, kind: kind.name, expected: kind.expected };
  }

  private async post(body: string): Promise<string> {
    const { services } = this.fleet;
    const service = services[Math.floor(this.options.random() * services.length)];
    if (service === undefined) throw new Error('there is no process');
    const response = await fetch(`${this.fleet.urlOf(service)}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.text();
    if (response.status !== 202) throw new Error(`answered ${response.status}: ${text.slice(0, 200)}`);
    return (JSON.parse(text) as { runId: string }).runId;
  }

  /** Keeps the number of open runs current, also through the restarts of the server. */
  private async watch(): Promise<void> {
    const sql = 'SELECT count(*)::int AS open FROM baton.workflow_runs WHERE ended_at IS NULL';
    while (!this.isDone) {
      const [row] = await this.fleet.rows<{ open: number }>(sql).catch(() => []);
      if (row !== undefined) this.openRuns = row.open;
      await delay(100);
    }
  }
}
