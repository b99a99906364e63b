import { createRequire } from 'node:module';
import { keepIdleConnectionsQuiet, type RequestQueueInternals } from './idle-connections.js';

type Options = Record<string, unknown>;
const RequestQueue = createRequire(__filename)('kafkajs/src/network/requestQueue') as new (
  options: Options,
) => RequestQueueInternals & { push(request: Options): void; destroy(): void };

const logger = { debug: () => undefined, warn: () => undefined };
const newQueue = () =>
  new RequestQueue({
    maxInFlightRequests: null,
    requestTimeout: 1000,
    enforceRequestTimeout: false,
    clientId: 'c',
    broker: 'b',
    logger,
  });

describe('The override of kafkajs 2.2.4', () => {
  it('finds what it replaces', () => {
    const { version } = createRequire(__filename)('kafkajs/package.json') as { version: string };
    expect(version).toBe('2.2.4');
    expect(typeof RequestQueue.prototype.scheduleCheckPendingRequests).toBe('function');
    expect(typeof RequestQueue.prototype.checkPendingRequests).toBe('function');
    expect(newQueue()).toMatchObject({ pending: [], throttleCheckTimeoutId: null, throttledUntil: -1 });
  });

  it('leaves an idle connection without a timer', () => {
    keepIdleConnectionsQuiet();
    const queue = newQueue();
    queue.checkPendingRequests();
    expect(queue.throttleCheckTimeoutId).toBeNull();
  });

  it('still sends what was held back by the broker', async () => {
    keepIdleConnectionsQuiet();
    const queue = newQueue();
    queue.throttledUntil = Date.now() + 20;
    const sent = new Promise<void>((resolve) => {
      queue.push({ entry: { correlationId: 1 }, expectResponse: true, sendRequest: resolve });
    });
    expect(queue.pending).toHaveLength(1);
    await sent;
    expect(queue.pending).toHaveLength(0);
    expect(queue.throttleCheckTimeoutId).toBeNull();
    queue.destroy();
  });
});
