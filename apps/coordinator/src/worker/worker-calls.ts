import type { workerV1 } from '@baton/contracts';
import { EngineError, type EngineApi } from '@baton/engine';
import {
  acquireFromProto,
  acquireResultToProto,
  heartbeatFromProto,
  heartbeatResultToProto,
  isRejectedReport,
  rejectedReport,
  reportAnswerToProto,
  reportFromProto,
  type ReportedResult,
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
    const outcome = isRejectedReport(report) ? await this.reject(report) : await this.reportOrReject(report);
    return reportAnswerToProto(report.taskId, outcome);
  }

  private async reportOrReject(report: ReportedResult): ReturnType<LeaseEngine['report']> {
    try {
      return await this.engine.report(report);
    } catch (error) {
      if (!isUnstorable(error)) throw error;
      return this.reject(rejectedReport(report, `${error.code}: ${error.message}`));
    }
  }

  /** R8: acknowledged as REJECTED, so that nobody sends it for ever; the attempt fails, not retryable. */
  private async reject(report: ReportedResult): ReturnType<LeaseEngine['report']> {
    const outcome = await this.engine.report(report);
    return outcome === 'APPLIED' || outcome === 'APPLIED_CANCELLED' || outcome === 'DUPLICATE' ? 'REJECTED' : outcome;
  }
}

/** The engine refuses what the database could not hold before it queues it (R8). */
function isUnstorable(error: unknown): error is EngineError {
  return error instanceof EngineError && (error.kind === 'too-large' || error.code.startsWith('PAYLOAD_'));
}
