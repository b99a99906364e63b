import { registryV1, runV1 } from '@baton/contracts';
import { ApiError, toGrpcError } from '@baton/wire';
import { Metadata, Server, ServerCredentials } from '@grpc/grpc-js';

export interface SeenCall {
  readonly method: string;
  readonly request: Record<string, unknown>;
  readonly authorization: string | undefined;
}

type Handler = (request: never) => unknown;

/** RunService and RegistryService on one loopback port, answering what a test says. */
export class FakeUpstreams {
  readonly calls: SeenCall[] = [];
  port = 0;
  private readonly handlers = new Map<string, Handler>();
  private readonly server = new Server({ 'grpc.max_receive_message_length': 8 * 1024 * 1024 });

  async open(port = 0): Promise<void> {
    this.server.addService(runV1.RunServiceService, this.implementation(runV1.RunServiceService) as never);
    this.server.addService(
      registryV1.RegistryServiceService,
      this.implementation(registryV1.RegistryServiceService) as never,
    );
    this.port = await new Promise((resolve, reject) =>
      this.server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
  }

  close(): void {
    this.server.forceShutdown();
  }

  /** What a method answers from now on; a thrown ApiError goes out as one. */
  on<Request>(method: string, handler: (request: Request) => unknown): void {
    this.handlers.set(method, handler as Handler);
  }

  reset(): void {
    this.handlers.clear();
    this.calls.length = 0;
  }

  last(method: string): SeenCall {
    const call = this.calls.findLast((entry) => entry.method === method);
    if (call === undefined) throw new Error(`${method} was not called`);
    return call;
  }

  private implementation(service: object): Record<string, unknown> {
    return Object.fromEntries(
      Object.keys(service).map((method) => [
        method,
        (call: { request: never; metadata: Metadata }, callback: (error: unknown, response?: unknown) => void) =>
          void this.handle(method, call).then(
            (response) => callback(null, response),
            (error: unknown) => callback(replyOf(error)),
          ),
      ]),
    );
  }

  private async handle(method: string, call: { request: never; metadata: Metadata }): Promise<unknown> {
    const authorization = call.metadata.get('authorization')[0]?.toString();
    this.calls.push({ method, request: call.request, authorization });
    const handler = this.handlers.get(method);
    if (handler === undefined) throw new ApiError('not-found', 'NOT_PREPARED', `${method} is not prepared`);
    return handler(call.request);
  }
}

function replyOf(error: unknown): unknown {
  return error instanceof ApiError ? toGrpcError(error, new Metadata()) : error;
}

export const RUN_ID = '01890000-0000-7000-8000-000000000001';

export function aRun(fields: Partial<runV1.Run> = {}): runV1.Run {
  return {
    runId: RUN_ID,
    namespace: 'default',
    definitionId: 'orders',
    definitionVersion: 3,
    status: runV1.RunStatus.RUN_STATUS_RUNNING,
    cause: '',
    compensation: 'NONE',
    epoch: 1,
    failure: undefined,
    startedAt: '2026-01-02T03:04:05.678Z',
    endedAt: '',
    businessKey: '',
    stuckReason: '',
    ...fields,
  };
}

export function aDefinition(fields: Partial<registryV1.Definition> = {}): registryV1.Definition {
  return {
    namespace: 'default',
    id: 'orders',
    version: 3,
    contentHash: 'abc',
    deployed: true,
    createdAt: '2026-01-02T03:04:05.678Z',
    spec: '',
    ...fields,
  };
}
