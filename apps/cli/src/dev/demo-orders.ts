import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { failed, unreachable } from '../errors.js';
import type { DemoResult } from './demo-runs.js';
import type { Layout } from './layout.js';

interface DemoOrder {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly expected: string;
}

/** What the example service answers about an order, as far as this reads it. */
interface OrderAnswer {
  readonly orderId: string;
  readonly runId: string;
  readonly status: string;
}

export interface DemoOrdersOptions {
  readonly layout: Layout;
  /** Of the example service. */
  readonly url: string;
  readonly timeoutMs?: number;
}

const POLL_MS = 100;
const REQUEST_TIMEOUT_MS = 10_000;
const DEFAULT_TIMEOUT_MS = 60_000;
const OPEN = new Set(['pending', 'running', 'compensating']);

/** Library mode: places the example's three orders, each under a new number, and waits for the ends of their sagas. */
export async function runDemoOrders({
  layout,
  url,
  timeoutMs = DEFAULT_TIMEOUT_MS,
}: DemoOrdersOptions): Promise<readonly DemoResult[]> {
  const file = join(layout.project, 'examples', 'embedded-saga', 'demo-orders.json');
  const orders = JSON.parse(readFileSync(file, 'utf8')) as readonly DemoOrder[];
  const until = performance.now() + timeoutMs;
  return Promise.all(
    orders.map(async ({ name, input, expected }) => {
      const placed = await ask(`${url}/orders`, input);
      const { runId, status } = await ended(`${url}/orders/${encodeURIComponent(placed.orderId)}`, until);
      return { name, runId, status, expected, ok: status === expected };
    }),
  );
}

/** The order when its saga has ended, or as it is when the time is over. */
async function ended(url: string, until: number): Promise<OrderAnswer> {
  for (;;) {
    const order = await ask(url);
    if (!OPEN.has(order.status) || performance.now() >= until) return order;
    await delay(POLL_MS);
  }
}

async function ask(url: string, body?: object): Promise<OrderAnswer> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const headers = { 'content-type': 'application/json' };
  const post = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(url, { signal, ...post }).catch((error: unknown) => {
    throw unreachable(`no answer from ${url}: ${String((error as Error).cause ?? error)}`);
  });
  const text = await response.text();
  if (!response.ok) throw failed(`${url} answered ${response.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as OrderAnswer;
}
