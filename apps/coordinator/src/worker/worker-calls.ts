import type { workerV1 } from '@baton/contracts';
import type { EngineApi } from '@baton/engine';
import {
  acquireFromProto,
  acquireResultToProto,
  heartbeatFromProto,
  heartbeatResultToProto,
  isRejectedReport,
  reportAnswerToProto,
  reportFromProto,
} from '@baton/wire';

type LeaseEngine = Pick<EngineApi, 'acquire' | 'heartbeat' | 'report'>;

/** What a worker may ask, one item at a time. The engine batches; the stream and the unary calls only frame. */
export class WorkerCalls {
  constructor(
    private readonly engine: LeaseEngine,
    private readonly newId: () => string,
  ) {}

  async acquire(
    namespace: string,
    request: workerV1.AcquireTaskLeaseRequest,
  ): Promise<workerV1.AcquireTaskLeaseResponse> {
    const call = acquireFromProto(namespace, request, this.newId);
    return acquireResultToProto(call.taskId, await this.engine.acquire(call));
  }

  async heartbeat(namespace: string, request: workerV1.HeartbeatRequest): Promise<workerV1.HeartbeatResponse> {
    const renewal = heartbeatFromProto(namespace, request);
    return heartbeatResultToProto(renewal.taskId, await this.engine.heartbeat(renewal));
  }

  async report(
    namespace: string,
    request: workerV1.ReportTaskResultRequest,
  ): Promise<workerV1.ReportTaskResultResponse> {
    const report = reportFromProto(namespace, request);
    const outcome = await this.engine.report(report);
    // R8: an output that is no text at all never reaches the engine as such; its attempt fails with the same code.
    const isRejection = isRejectedReport(report) && (outcome === 'APPLIED' || outcome === 'APPLIED_CANCELLED');
    return reportAnswerToProto(report.taskId, isRejection ? 'REJECTED' : outcome);
  }
}
