import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startKafka, startPostgres, type RunningKafka, type RunningPostgres } from '@baton/local-stack';
import { migrate } from '@baton/migrations';
import { Client } from 'pg';
import { ServiceProcess, type ServiceSpec } from './service-process.js';

export interface PlatformOptions {
  readonly coordinators?: number;
  readonly relays?: number;
  readonly timerServices?: number;
  readonly workers?: number;
  readonly gateway?: boolean;
  /**
   * Handler calls are written to a ledger in a database of its own; 'own-server' also gives it a server of its own, for
   * tests that stop Baton's: a handler that fails because its own database is away is no news about Baton.
   */
  readonly ledger?: boolean | 'own-server';
  /** Heap of the broker's JVM, e.g. '1g'; default: small. */
  readonly kafkaHeap?: string;
  readonly logLevel?: string;
  /** How long the services may take to be ready. Default 150 s. */
  readonly readyWithinMs?: number;
  /** More environment for the worker fleet, e.g. its concurrency. */
  readonly workerEnv?: Readonly<Record<string, string>>;
}

/**
 * A whole platform on real parts: PostgreSQL, Kafka and the services as separate processes on free loopback ports.
 * Data lives in a temporary folder that goes with it, unless BATON_KEEP_PLATFORM=1.
 */
export class Platform {
  readonly postgres: RunningPostgres;
  readonly kafka: RunningKafka;

  private constructor(
    readonly dir: string,
    private readonly servers: Servers,
    readonly services: ReadonlyMap<string, ServiceProcess>,
    readonly ports: Ports,
  ) {
    this.postgres = servers.postgres;
    this.kafka = servers.kafka;
  }

  static async start(options: PlatformOptions = {}): Promise<Platform> {
    const dir = mkdtempSync(join(tmpdir(), 'baton-e2e-'));
    const servers = await startServers(dir, options);
    const { postgres, kafka, ledger } = servers;
    await migrate({ url: postgres.url, publication: true });
    const ledgerUrl = ledger === undefined ? undefined : await createLedgerDatabase(ledger.url);
    const ports = await freePorts(options);
    const specs = serviceSpecs({ options, ports, databaseUrl: postgres.url, brokers: kafka.brokers, ledgerUrl });
    const services = new Map(specs.map((spec) => [spec.name, new ServiceProcess(spec, join(dir, 'logs'))]));
    const platform = new Platform(dir, servers, services, ports);
    try {
      for (const service of services.values()) service.start();
      await Promise.all([...services.values()].map((service) => service.ready(options.readyWithinMs ?? 150_000)));
    } catch (error) {
      await platform.stop().catch(() => undefined);
      throw error;
    }
    return platform;
  }

  get gatewayUrl(): string {
    return `http://127.0.0.1:${this.ports.gateway}`;
  }

  /** host:port list of the coordinators' worker and run services. */
  get coordinatorUrls(): readonly string[] {
    return this.ports.coordinators.map((entry) => `127.0.0.1:${entry.grpc}`);
  }

  get registryUrl(): string {
    return `127.0.0.1:${this.ports.registry.grpc}`;
  }

  get ledgerUrl(): string {
    if (this.servers.ledger === undefined) throw new Error('this platform was started without a ledger');
    return withDatabase(this.servers.ledger.url, 'ledger');
  }

  service(name: string): ServiceProcess {
    const service = this.services.get(name);
    if (service === undefined) throw new Error(`no service ${name}: ${[...this.services.keys()].join(', ')}`);
    return service;
  }

  named(prefix: string): readonly ServiceProcess[] {
    return [...this.services.values()].filter((service) => service.spec.name.startsWith(prefix));
  }

  /** Runs `work` with a connection of its own to Baton's database. */
  async sql<T>(work: (client: Client) => Promise<T>, url = this.postgres.url): Promise<T> {
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async stop(): Promise<void> {
    const problems: unknown[] = [];
    const order = ['worker', 'gateway', 'timer', 'coordinator', 'relay', 'registry'];
    for (const prefix of order) {
      const results = await Promise.allSettled(this.named(prefix).map((service) => service.stop()));
      problems.push(...results.filter((result) => result.status === 'rejected').map((result) => result.reason));
    }
    const { ledger } = this.servers;
    const ownLedger = ledger === undefined || ledger === this.postgres ? [] : [ledger.stop()];
    await Promise.allSettled([this.kafka.stop(), this.postgres.stop(), ...ownLedger]);
    // To look at logs and data of a long test that failed.
    if (process.env['BATON_KEEP_PLATFORM'] !== '1') rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
    if (problems.length > 0) throw problems[0];
  }
}

interface Servers {
  readonly postgres: RunningPostgres;
  readonly kafka: RunningKafka;
  /** Where the ledger's database is; may be the same server. */
  readonly ledger: RunningPostgres | undefined;
}

async function startServers(dir: string, options: PlatformOptions): Promise<Servers> {
  const [postgres, kafka, ownLedger] = await Promise.all([
    startPostgres({ dataDir: join(dir, 'postgres') }),
    startKafka({ dataDir: join(dir, 'kafka'), ...(options.kafkaHeap !== undefined && { heap: options.kafkaHeap }) }),
    options.ledger === 'own-server' ? startPostgres({ dataDir: join(dir, 'ledger') }) : undefined,
  ]);
  return { postgres, kafka, ledger: ownLedger ?? (options.ledger === true ? postgres : undefined) };
}

interface Ports {
  readonly coordinators: readonly { readonly grpc: number; readonly internal: number; readonly admin: number }[];
  readonly registry: { readonly grpc: number; readonly admin: number };
  readonly gateway: number;
  readonly gatewayAdmin: number;
  readonly relays: readonly number[];
  readonly timers: readonly number[];
}

async function freePorts(options: PlatformOptions): Promise<Ports> {
  const coordinators = options.coordinators ?? 1;
  const relays = options.relays ?? 1;
  const timers = options.timerServices ?? 1;
  const free = await listenOnFreePorts(coordinators * 3 + relays + timers + 4);
  const next = (): number => {
    const port = free.pop();
    if (port === undefined) throw new Error('too few free ports');
    return port;
  };
  return {
    coordinators: Array.from({ length: coordinators }, () => ({ grpc: next(), internal: next(), admin: next() })),
    registry: { grpc: next(), admin: next() },
    gateway: next(),
    gatewayAdmin: next(),
    relays: Array.from({ length: relays }, next),
    timers: Array.from({ length: timers }, next),
  };
}

/** All at once, so that no port is handed out twice. */
async function listenOnFreePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve, reject) => {
          const server = createServer();
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

interface SpecInput {
  readonly options: PlatformOptions;
  readonly ports: Ports;
  readonly databaseUrl: string;
  readonly brokers: string;
  readonly ledgerUrl: string | undefined;
}

function serviceSpecs({ options, ports, databaseUrl, brokers, ledgerUrl }: SpecInput): ServiceSpec[] {
  const common = { BATON_AUTH: 'none', BATON_LOG_LEVEL: options.logLevel ?? 'info', NODE_ENV: 'test' };
  const coordinatorUrl = ports.coordinators.map((entry) => `127.0.0.1:${entry.grpc}`).join(',');
  const internalUrl = ports.coordinators.map((entry) => `127.0.0.1:${entry.internal}`).join(',');
  const app = (name: string, script: string, admin: number, env: Record<string, string>): ServiceSpec => ({
    name,
    script: `apps/${script}/dist/main.js`,
    adminPort: admin,
    env: { ...common, BATON_ADMIN_PORT: String(admin), ...env },
  });
  const specs = [
    ...ports.coordinators.map((entry, index) =>
      app(`coordinator-${index + 1}`, 'coordinator', entry.admin, {
        BATON_DATABASE_URL: databaseUrl,
        BATON_GRPC_PORT: String(entry.grpc),
        BATON_INTERNAL_PORT: String(entry.internal),
      }),
    ),
    ...ports.relays.map((admin, index) =>
      app(`relay-${index + 1}`, 'outbox-relay', admin, {
        BATON_DATABASE_URL: databaseUrl,
        BATON_KAFKA_BROKERS: brokers,
      }),
    ),
    ...ports.timers.map((admin, index) =>
      app(`timer-${index + 1}`, 'timer-service', admin, {
        BATON_DATABASE_URL: databaseUrl,
        BATON_INTERNAL_URL: internalUrl,
      }),
    ),
    app('registry', 'definition-registry', ports.registry.admin, {
      BATON_DATABASE_URL: databaseUrl,
      BATON_GRPC_PORT: String(ports.registry.grpc),
    }),
  ];
  if (options.gateway !== false) {
    specs.push(
      app('gateway', 'api-gateway', ports.gatewayAdmin, {
        BATON_HTTP_PORT: String(ports.gateway),
        BATON_COORDINATOR_URL: coordinatorUrl,
        BATON_REGISTRY_URL: `127.0.0.1:${ports.registry.grpc}`,
      }),
    );
  }
  for (let index = 1; index <= (options.workers ?? 1); index += 1) {
    specs.push({
      name: `worker-${index}`,
      script: 'examples/order-fulfilment/dist/main.js',
      env: {
        ...common,
        BATON_KAFKA_BROKERS: brokers,
        BATON_COORDINATOR_URL: coordinatorUrl,
        ...(ledgerUrl === undefined ? {} : { BATON_LEDGER_URL: ledgerUrl }),
        ...options.workerEnv,
      },
    });
  }
  return specs;
}

async function createLedgerDatabase(url: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('CREATE DATABASE ledger');
  await client.end();
  return withDatabase(url, 'ledger');
}

function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.toString();
}
