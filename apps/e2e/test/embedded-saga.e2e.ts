import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@baton/local-stack';
import { eventually, ServiceProcess } from '@baton/testkit';
import { LibraryFleet } from '../src/index.js';

interface OrderAnswer {
  readonly orderId: string;
  readonly runId: string;
  readonly status: string;
  readonly failure: { readonly code: string } | null;
  readonly effects: readonly { readonly what: string; readonly undone: boolean }[];
}

const ORDER = { customer: 'ada@example.com', items: [{ sku: 'lamp', quantity: 2, price: 19.9 }] };
const DONE = ['reserved', 'charged', 'shipped'];

interface Way {
  readonly what: string;
  readonly more: object;
  readonly status: string;
  readonly code: string | null;
  readonly standing: readonly string[];
  readonly undone: readonly string[];
}

const DELIVERED = { status: 'succeeded', code: null, standing: DONE, undone: [] };
const MISSING = { items: [{ sku: 'out-of-stock', quantity: 1, price: 1 }] };

const WAYS: readonly Way[] = [
  { what: 'nothing special', more: {}, ...DELIVERED },
  { what: 'a shipping that fails twice', more: { shipping: 'fail-twice' }, ...DELIVERED },
  {
    what: 'a payment that is declined',
    more: { payment: 'decline' },
    status: 'compensated',
    code: 'PAYMENT_DECLINED',
    standing: [],
    undone: ['reserved'],
  },
  {
    what: 'nobody who ships it',
    more: { shipping: 'refuse' },
    status: 'compensated',
    code: 'SHIPPING_REFUSED',
    standing: [],
    undone: ['charged', 'reserved'],
  },
  { what: 'goods that are not there', more: MISSING, status: 'failed', code: 'OUT_OF_STOCK', standing: [], undone: [] },
];

async function post(url: string, order: object): Promise<{ readonly code: number; readonly body: OrderAnswer }> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/orders`, { method: 'POST', headers, body: JSON.stringify(order) });
  return { code: response.status, body: (await response.json()) as OrderAnswer };
}

async function look(url: string, orderId: string): Promise<OrderAnswer> {
  return (await (await fetch(`${url}/orders/${encodeURIComponent(orderId)}`)).json()) as OrderAnswer;
}

function ended(url: string, orderId: string, timeoutMs = 30_000): Promise<OrderAnswer> {
  return eventually(
    async () => {
      const order = await look(url, orderId);
      if (['pending', 'running', 'compensating'].includes(order.status)) throw new Error(order.status);
      return order;
    },
    { timeoutMs, what: `order ${orderId} ends` },
  );
}

/** What its README says, on two processes over one database. */
describe('the example of an embedded saga', () => {
  let fleet: LibraryFleet;
  let one: ServiceProcess;
  let two: ServiceProcess;

  beforeAll(async () => {
    fleet = await LibraryFleet.start({ processes: 2, stepMs: 0, leaseMs: 2_000 });
    [one, two] = fleet.services as [ServiceProcess, ServiceProcess];
  }, 180_000);
  afterAll(() => fleet?.stop(), 60_000);

  it.each(WAYS)('with $what: an order ends as it should', async ({ more, status, code, standing, undone }) => {
    const { code: answered, body } = await post(fleet.urlOf(one), { ...ORDER, ...more });
    expect(answered).toBe(202);
    const order = await ended(fleet.urlOf(two), body.orderId);
    expect(order).toMatchObject({ orderId: body.orderId, runId: body.runId, status });
    expect(order.failure?.code ?? null).toBe(code);
    const which = (isUndone: boolean): string[] =>
      order.effects.filter((effect) => effect.undone === isUndone).map(({ what }) => what);
    expect(which(false)).toEqual(standing);
    expect(which(true).sort()).toEqual(undone);
  });

  it('takes the same order again for the same order', async () => {
    const first = await post(fleet.urlOf(one), { ...ORDER, orderId: 'A 1' });
    const again = await post(fleet.urlOf(two), { ...ORDER, orderId: 'A 1' });
    expect(again.body.runId).toBe(first.body.runId);
    expect((await ended(fleet.urlOf(one), 'A 1')).status).toBe('succeeded');
  });

  it('refuses what is no order, and knows none that was not placed', async () => {
    expect((await post(fleet.urlOf(one), { customer: 'ada' })).code).toBe(400);
    expect((await fetch(`${fleet.urlOf(one)}/orders/nobodys`)).status).toBe(404);
  });

  it('starts with a PostgreSQL of its own where none is named, and keeps its orders', async () => {
    const home = mkdtempSync(join(tmpdir(), 'baton-embedded-'));
    const adminPort = await freePort();
    const env = { BATON_HOME: home, BATON_HTTP_PORT: String(adminPort) };
    const script = 'examples/embedded-saga/dist/main.js';
    const own = new ServiceProcess({ name: 'own', script, env, adminPort }, join(home, 'logs'));
    const url = `http://127.0.0.1:${adminPort}`;
    try {
      own.start();
      await own.ready(120_000);
      await post(url, { ...ORDER, orderId: 'kept' });
      expect((await ended(url, 'kept')).status).toBe('succeeded');
      expect(await own.stop(30_000)).toBe(0);
      own.start();
      await own.ready(120_000);
      expect((await look(url, 'kept')).status).toBe('succeeded');
      expect(await own.stop(30_000)).toBe(0);
    } finally {
      await own.kill();
      rmSync(home, { recursive: true, force: true, maxRetries: 3 });
    }
  }, 180_000);
});
