import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from '../metrics/metrics.js';
import type { Readiness } from './readiness.js';

export interface AdminServerParts {
  readonly service: string;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
}

/**
 * Probes and metrics on a port of their own, so that no public listener serves them. Opens first and closes last:
 * a process that is starting or draining still says so.
 */
export class AdminServer {
  private readonly server: Server;

  constructor(private readonly parts: AdminServerParts) {
    this.server = createServer((request, response) => {
      const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
      void this.answer(request.method ?? 'GET', path, response).catch((error: unknown) => {
        sendJson(response, 500, { error: error instanceof Error ? error.message : String(error) });
      });
    });
    this.server.keepAliveTimeout = 5_000;
  }

  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, host, () => {
        this.server.off('error', reject);
        resolve();
      });
    });
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(method: string, path: string, response: ServerResponse): Promise<void> {
    if (method !== 'GET' && method !== 'HEAD') return sendJson(response, 405, { error: 'only GET' });
    const { readiness, metrics, service } = this.parts;
    switch (path) {
      case '/livez':
        return sendJson(response, 200, { service, status: 'alive' });
      case '/startupz':
        return sendJson(response, readiness.isStarted ? 200 : 503, {
          service,
          status: readiness.isStarted ? 'started' : 'starting',
        });
      case '/readyz': {
        const report = await readiness.report();
        return sendJson(response, report.ready ? 200 : 503, {
          service,
          status: report.ready ? 'ready' : 'not ready',
          checks: report.checks,
        });
      }
      case '/metrics': {
        const text = await metrics.registry.metrics();
        response.writeHead(200, { 'content-type': metrics.registry.contentType }).end(text);
        return;
      }
      default:
        return sendJson(response, 404, { error: 'paths: /livez /readyz /startupz /metrics' });
    }
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}
