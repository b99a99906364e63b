import { connect, createServer, type Server, type Socket } from 'node:net';
import { ArmedFaults, type ArmedFault, type FaultOptions, type LateFault } from './armed-faults.js';
import { KafkaConversation } from './kafka-conversation.js';
import { Link } from './link.js';
import { PostgresConversation } from './postgres-conversation.js';
import type { Weather } from './wire.js';

export interface FaultProxyOptions {
  readonly target: { readonly host: string; readonly port: number };
  /** A free one when not given. */
  readonly port?: number;
  /** What is spoken on the wire. Default `postgres`. */
  readonly protocol?: 'postgres' | 'kafka';
}

/**
 * A TCP proxy that breaks connections at a chosen moment.
 *
 * `cut…Commit` and `holdCommit` are about the message that makes work durable: COMMIT or END, the end of a statement that writes outside
 * of a transaction and so commits by itself, and, for Kafka, a Produce request. A commit that the server refused does
 * not count: its answer goes to the client, and `cutAfterCommit` waits for the next.
 */
export interface FaultProxy {
  readonly port: number;
  readonly host: string;
  /** Connections that are open now. */
  readonly connections: number;
  /** The same database, through the proxy. */
  url(databaseUrl: string): string;
  /** Ends all open connections; new ones are accepted. */
  cut(): void;
  /** Everything arrives so much later, in both directions. 0 = no longer. */
  delay(ms: number): void;
  /** Connections are accepted and kept, and nothing arrives. */
  freeze(): void;
  /** What was sent meanwhile arrives now, also from clients that have given up. */
  thaw(): void;
  /** New connections are reset at once. Open ones stay. */
  refuse(on: boolean): void;
  /** The commit never reaches the server. */
  cutBeforeCommit(options?: FaultOptions): ArmedFault;
  /** The commit is forwarded and the client cut off at once: the server may be committing for some time yet. */
  cutDuringCommit(options?: FaultOptions): ArmedFault;
  /** The client is cut off at once, and the commit arrives when the test says so, like a packet that was held up. */
  holdCommit(options?: FaultOptions): LateFault;
  /** The server has committed and answered; the answer is lost. */
  cutAfterCommit(options?: FaultOptions): ArmedFault;
  close(): Promise<void>;
}

export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const server = createServer();
  const proxy = new Proxy(server, options);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, HOST, resolve);
  });
  return proxy;
}

const HOST = '127.0.0.1';

class Proxy implements FaultProxy {
  readonly host = HOST;
  private readonly links = new Set<Link>();
  private readonly faults = new ArmedFaults();
  private readonly weather: Weather = { delayMs: 0, isFrozen: false };
  private isRefusing = false;

  constructor(
    private readonly server: Server,
    private readonly options: FaultProxyOptions,
  ) {
    server.on('connection', (near) => this.accept(near));
  }

  get port(): number {
    const address = this.server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy is closed');
    return address.port;
  }

  get connections(): number {
    return this.links.size;
  }

  url(databaseUrl: string): string {
    const url = new URL(databaseUrl);
    url.hostname = HOST;
    url.port = String(this.port);
    return url.toString();
  }

  cut(): void {
    for (const link of this.links) link.cut();
  }

  delay(ms: number): void {
    this.weather.delayMs = ms;
  }

  freeze(): void {
    this.setFrozen(true);
  }

  thaw(): void {
    this.setFrozen(false);
  }

  refuse(on: boolean): void {
    this.isRefusing = on;
  }

  cutBeforeCommit(options?: FaultOptions): ArmedFault {
    return this.faults.arm('before', options);
  }

  cutDuringCommit(options?: FaultOptions): ArmedFault {
    return this.faults.arm('during', options);
  }

  holdCommit(options?: FaultOptions): LateFault {
    return this.faults.arm('late', options);
  }

  cutAfterCommit(options?: FaultOptions): ArmedFault {
    return this.faults.arm('after', options);
  }

  async close(): Promise<void> {
    this.isRefusing = true;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.cut();
    await closed;
  }

  private setFrozen(isFrozen: boolean): void {
    this.weather.isFrozen = isFrozen;
    for (const link of this.links) link.weatherChanged();
  }

  private accept(near: Socket): void {
    if (this.isRefusing) {
      near.on('error', () => undefined);
      near.resetAndDestroy();
      return;
    }
    const { target, protocol } = this.options;
    const far = connect(target.port, target.host);
    for (const socket of [near, far]) socket.setNoDelay(true);
    const conversation = protocol === 'kafka' ? new KafkaConversation() : new PostgresConversation();
    const link = new Link({ near, far, conversation, faults: this.faults, weather: this.weather });
    this.links.add(link);
    let open = 2;
    for (const socket of [near, far]) {
      socket.on('close', () => {
        open -= 1;
        if (open === 0) this.links.delete(link);
      });
    }
  }
}
