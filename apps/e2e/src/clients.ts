import { credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { registryV1, runV1, workerV1 } from '@baton/contracts';

type Unary<Request, Response> = (
  request: Request,
  metadata: Metadata,
  callback: (error: ServiceError | null, response: Response) => void,
) => unknown;

/** What a caller sees of a refused call: status code, Baton's stable code and the details. */
export interface CallFailure {
  readonly grpcCode: number;
  readonly code: string | undefined;
  readonly message: string;
  readonly details: readonly { readonly pointer: string; readonly code: string }[];
}

/** gRPC clients of one platform, as promises. */
export class Clients {
  readonly runs: runV1.RunServiceClient;
  readonly workers: workerV1.WorkerServiceClient;
  readonly registry: registryV1.RegistryServiceClient;

  constructor(coordinator: string, registry: string) {
    this.runs = new runV1.RunServiceClient(coordinator, credentials.createInsecure());
    this.workers = new workerV1.WorkerServiceClient(coordinator, credentials.createInsecure());
    this.registry = new registryV1.RegistryServiceClient(registry, credentials.createInsecure());
  }

  publish(spec: string): Promise<registryV1.PublishDefinitionResponse> {
    return call(
      this.registry.publishDefinition.bind(this.registry),
      registryV1.PublishDefinitionRequest.fromPartial({ spec }),
    );
  }

  start(request: Partial<runV1.StartRunRequest>): Promise<runV1.StartRunResponse> {
    return call(this.runs.startRun.bind(this.runs), runV1.StartRunRequest.fromPartial(request));
  }

  get(runId: string): Promise<runV1.GetRunResponse> {
    return call(this.runs.getRun.bind(this.runs), { runId, includePayloads: true });
  }

  signal(request: Partial<runV1.SignalRunRequest>): Promise<runV1.SignalRunResponse> {
    return call(this.runs.signalRun.bind(this.runs), runV1.SignalRunRequest.fromPartial(request));
  }

  cancel(runId: string, requestId: string): Promise<runV1.CancelRunResponse> {
    return call(this.runs.cancelRun.bind(this.runs), { runId, requestId, reason: 'asked by the test' });
  }

  retry(request: Partial<runV1.RetryRunRequest>): Promise<runV1.RetryRunResponse> {
    return call(this.runs.retryRun.bind(this.runs), runV1.RetryRunRequest.fromPartial(request));
  }

  retryCompensation(runId: string, requestId: string): Promise<runV1.RetryCompensationResponse> {
    return call(this.runs.retryCompensation.bind(this.runs), { runId, requestId });
  }

  result(runId: string, waitMs: number): Promise<runV1.GetRunResultResponse> {
    return call(this.runs.getRunResult.bind(this.runs), { runId, waitMs: BigInt(waitMs) });
  }

  history(runId: string): Promise<runV1.GetHistoryResponse> {
    return call(this.runs.getHistory.bind(this.runs), { runId, afterSeq: 0n, pageSize: 1000 });
  }

  acquire(request: Partial<workerV1.AcquireTaskLeaseRequest>): Promise<workerV1.AcquireTaskLeaseResponse> {
    return call(
      this.workers.acquireTaskLease.bind(this.workers),
      workerV1.AcquireTaskLeaseRequest.fromPartial(request),
    );
  }

  heartbeat(request: Partial<workerV1.HeartbeatRequest>): Promise<workerV1.HeartbeatResponse> {
    return call(this.workers.heartbeat.bind(this.workers), workerV1.HeartbeatRequest.fromPartial(request));
  }

  report(request: Partial<workerV1.ReportTaskResultRequest>): Promise<workerV1.ReportTaskResultResponse> {
    return call(
      this.workers.reportTaskResult.bind(this.workers),
      workerV1.ReportTaskResultRequest.fromPartial(request),
    );
  }

  close(): void {
    this.runs.close();
    this.workers.close();
    this.registry.close();
  }
}

export async function call<Request, Response>(method: Unary<Request, Response>, request: Request): Promise<Response> {
  return new Promise((resolve, reject) => {
    method(request, new Metadata(), (error, response) => (error === null ? resolve(response) : reject(error)));
  });
}

/** Awaits a call that must be refused; a call that succeeds fails the test. */
export async function refused(promise: Promise<unknown>): Promise<CallFailure> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: ServiceError) => ({ error }),
  );
  if ('value' in outcome) throw new Error(`expected a refusal, got ${JSON.stringify(outcome.value)}`);
  const { error } = outcome;
  const raw = error.metadata?.get('baton-error-bin')[0];
  const parsed = raw === undefined ? {} : (JSON.parse(raw.toString()) as { details?: CallFailure['details'] });
  return {
    grpcCode: error.code,
    code: error.metadata?.get('baton-code')[0]?.toString(),
    message: error.details,
    details: parsed.details ?? [],
  };
}
