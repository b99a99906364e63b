import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { type MessageHandler, ServerGrpc } from '@nestjs/microservices';
import { HealthImplementation } from 'grpc-health-check';
import { ListenError } from '../bootstrap/definition.js';
import { packageDefinitionOf, type ServiceMap } from './package-definition.js';
import { addReflection } from './reflection.js';

export interface GrpcEndpoint {
  /** For logs and readiness, e.g. `public`, `internal`. */
  readonly name: string;
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** ts-proto service maps served here. */
  readonly services: readonly ServiceMap[];
}

export interface GrpcServerOptions {
  readonly endpoints: readonly GrpcEndpoint[];
  /** Server reflection, so that grpcurl works without .proto files. Off in production. */
  readonly reflection: boolean;
  /** How long open calls may take after the listeners are closed. */
  readonly drainMs: number;
}

/** The largest legal message is one payload of 1 MiB with its envelope; answers with many payloads are larger. */
const MAX_RECEIVE_BYTES = 8 * 1024 * 1024;
const MAX_SEND_BYTES = 64 * 1024 * 1024;

const CHANNEL_OPTIONS = {
  'grpc.max_receive_message_length': MAX_RECEIVE_BYTES,
  'grpc.max_send_message_length': MAX_SEND_BYTES,
  // Clients ping every 30 s (half-dead connections); without this the server would call that abuse.
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.http2.min_ping_interval_without_data_ms': 10_000,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.so_reuseport': 0,
} as const;

/**
 * One Nest transport over several gRPC listeners, each with its own services (R28: InternalService has its own port).
 * A ServerGrpc, because Nest hands metadata and call to handlers of that class alone; it listens on nothing itself.
 */
export class GrpcServers extends ServerGrpc {
  private readonly listeners: EndpointServer[];

  constructor(private readonly servers: GrpcServerOptions) {
    super({ package: [] });
    this.listeners = servers.endpoints.map((endpoint) => new EndpointServer(endpoint, servers));
  }

  /** Nest registers every handler here; each listener takes those of its services. */
  override addHandler(pattern: unknown, callback: MessageHandler, isEventHandler?: boolean): void {
    for (const listener of this.listeners) listener.addHandler(pattern, callback, isEventHandler);
  }

  override async listen(callback: (error?: unknown) => void): Promise<void> {
    try {
      await Promise.all(this.listeners.map((listener) => listener.open()));
      callback();
    } catch (error) {
      callback(error);
    }
  }

  /** Tells health watchers before anything is closed, so that balancers stop sending calls here. */
  announceStop(): void {
    for (const listener of this.listeners) listener.announceStop();
  }

  override async close(): Promise<void> {
    await Promise.all(this.listeners.map((listener) => listener.drain(this.servers.drainMs)));
  }

  /** Port that was really bound, by the name of the endpoint. */
  port(name: string): number {
    const port = this.listeners.find((listener) => listener.endpoint.name === name)?.boundPort;
    if (port === undefined) throw new Error(`the gRPC endpoint ${name} is not open`);
    return port;
  }
}

class EndpointServer extends ServerGrpc {
  boundPort: number | undefined;
  private readonly health: HealthImplementation;
  private server: GrpcServer | undefined;

  constructor(
    readonly endpoint: GrpcEndpoint,
    private readonly servers: GrpcServerOptions,
  ) {
    const { definition, packages, names } = packageDefinitionOf(endpoint.services);
    super({
      package: [...packages],
      packageDefinition: definition,
      // Nest calls this before it binds the services of the package.
      onLoadPackageDefinition: (_definition: unknown, server: GrpcServer) => this.addStandardServices(server),
    });
    this.health = new HealthImplementation(Object.fromEntries(['', ...names].map((name) => [name, 'SERVING'])));
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      void this.listen((error?: unknown) => (error === undefined ? resolve() : reject(error)));
    });
  }

  override async createClient(): Promise<GrpcServer> {
    const server = new GrpcServer(CHANNEL_OPTIONS);
    this.server = server;
    const address = `${this.endpoint.host}:${this.endpoint.port}`;
    this.boundPort = await new Promise<number>((resolve, reject) => {
      server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(new ListenError(address, error.message)),
      );
    });
    return server;
  }

  announceStop(): void {
    this.health.setStatus('', 'NOT_SERVING');
    for (const name of packageDefinitionOf(this.endpoint.services).names) this.health.setStatus(name, 'NOT_SERVING');
  }

  /** Calls in flight are answered; what is still open after the limit (streams) is cut. */
  async drain(limitMs: number): Promise<void> {
    const server = this.server;
    this.server = undefined;
    if (server === undefined) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => server.forceShutdown(), limitMs);
      server.tryShutdown(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  private addStandardServices(server: GrpcServer): void {
    this.health.addToServer(server);
    if (this.servers.reflection) addReflection(server, this.endpoint.services);
  }
}
