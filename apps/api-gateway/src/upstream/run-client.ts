import { runV1 } from '@baton/contracts';
import { grpcClientOptions, grpcTarget, insecureCredentials } from '@baton/platform';
import { whyNotConnected } from './connection.js';
import { CALL_TIMEOUT_MS, callUnary, type CallContext } from './unary.js';

/**
 * RunService of the coordinators. Every command carries an id of the caller's or one made at this edge, so that
 * repeating it after UNAVAILABLE has one effect (R24).
 */
export class RunClient {
  private readonly client: runV1.RunServiceClient;

  constructor(private readonly addresses: readonly string[]) {
    const options = grpcClientOptions({ service: 'baton.run.v1.RunService', retryUnavailable: true });
    this.client = new runV1.RunServiceClient(grpcTarget(addresses), insecureCredentials(), options);
  }

  whyNotConnected(): Promise<string | undefined> {
    return whyNotConnected(this.client, this.addresses);
  }

  start(request: runV1.StartRunRequest, context: CallContext): Promise<runV1.StartRunResponse> {
    return callUnary(this.client.startRun.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  get(request: runV1.GetRunRequest, context: CallContext): Promise<runV1.GetRunResponse> {
    return callUnary(this.client.getRun.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  list(request: runV1.ListRunsRequest, context: CallContext): Promise<runV1.ListRunsResponse> {
    return callUnary(this.client.listRuns.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  result(request: runV1.GetRunResultRequest, context: CallContext): Promise<runV1.GetRunResultResponse> {
    const timeoutMs = Number(request.waitMs) + CALL_TIMEOUT_MS;
    return callUnary(this.client.getRunResult.bind(this.client), request, context, timeoutMs);
  }

  signal(request: runV1.SignalRunRequest, context: CallContext): Promise<runV1.SignalRunResponse> {
    return callUnary(this.client.signalRun.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  retry(request: runV1.RetryRunRequest, context: CallContext): Promise<runV1.RetryRunResponse> {
    return callUnary(this.client.retryRun.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  retryCompensation(
    request: runV1.RetryCompensationRequest,
    context: CallContext,
  ): Promise<runV1.RetryCompensationResponse> {
    return callUnary(this.client.retryCompensation.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  cancel(request: runV1.CancelRunRequest, context: CallContext): Promise<runV1.CancelRunResponse> {
    return callUnary(this.client.cancelRun.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  history(request: runV1.GetHistoryRequest, context: CallContext): Promise<runV1.GetHistoryResponse> {
    return callUnary(this.client.getHistory.bind(this.client), request, context, CALL_TIMEOUT_MS);
  }

  close(): void {
    this.client.close();
  }
}
