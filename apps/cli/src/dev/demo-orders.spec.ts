import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { projectFolder } from '@baton/local-stack';
import { CliError, EXIT } from '../errors.js';
import { runDemoOrders } from './demo-orders.js';
import { layoutOf } from './layout.js';

/** A service that takes orders: each is running when it is placed, and has ended at the second look. */
class ShopStub {
  readonly looks = new Map<string, number>();
  private readonly ends = new Map<string, string>();
  refuse: string | undefined;
  private readonly server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      response.statusCode = this.refuse === undefined ? 200 : 500;
      response.end(this.refuse ?? JSON.stringify(this.answer(request.method ?? '', request.url ?? '', body)));
    });
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private answer(method: string, url: string, body: string): object {
    const orderId = method === 'POST' ? `O ${this.ends.size + 1}` : decodeURIComponent(url.replace('/orders/', ''));
    if (method === 'POST') this.ends.set(orderId, body.includes('decline') ? 'compensated' : 'succeeded');
    const looks = (this.looks.get(orderId) ?? -1) + 1;
    this.looks.set(orderId, looks);
    return { orderId, runId: `run of ${orderId}`, status: looks < 2 ? 'running' : this.ends.get(orderId) };
  }
}

describe('the demo orders of library mode', () => {
  const layout = layoutOf('/home', projectFolder());
  let shop: ShopStub;
  let url: string;

  beforeEach(async () => {
    shop = new ShopStub();
    url = await shop.start();
  });
  afterEach(() => shop.stop());

  it("are the example's three, each watched to its end", async () => {
    const results = await runDemoOrders({ layout, url });
    expect(results.map(({ status, ok }) => [status, ok])).toEqual([
      ['succeeded', true],
      ['compensated', true],
      ['succeeded', true],
    ]);
    expect(results[1]).toMatchObject({ name: 'payment declined, reservation undone', runId: 'run of O 2' });
  });

  it('are told as they are when the time is over', async () => {
    const results = await runDemoOrders({ layout, url, timeoutMs: 0 });
    expect(results.map(({ status, ok }) => [status, ok])).toEqual(Array(3).fill(['running', false]));
  });

  it('end with what the service answers, or that it does not', async () => {
    shop.refuse = 'no database';
    await expect(runDemoOrders({ layout, url })).rejects.toThrow(/answered 500: no database/);
    shop.stop();
    const gone = await runDemoOrders({ layout, url: 'http://127.0.0.1:9' }).catch((error: unknown) => error);
    expect(gone).toBeInstanceOf(CliError);
    expect(gone).toMatchObject({ exitCode: EXIT.unreachable });
  });
});
