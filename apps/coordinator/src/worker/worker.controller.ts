import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import { Controller, Inject } from '@nestjs/common';
import { GrpcMethod, GrpcStreamCall } from '@nestjs/microservices';
import { workerV1 } from '@baton/contracts';
import {
  AllowRoles,
  authorizationOf,
  NoCredential,
  PLATFORM,
  principalOf,
  requireRole,
  type Platform,
} from '@baton/platform';
import { ApiError } from '@baton/wire';
import { describeError, toGrpcReply } from '../errors.js';
import { Sessions } from './sessions.js';
import { WorkerCalls } from './worker-calls.js';

const SERVICE = 'WorkerService';
const MAX_ITEMS = 1_000;

/** What workers of any language talk to. */
@Controller()
@AllowRoles('worker')
export class WorkerController {
  constructor(
    @Inject(WorkerCalls) private readonly calls: WorkerCalls,
    @Inject(Sessions) private readonly sessions: Sessions,
    @Inject(PLATFORM) private readonly platform: Platform,
  ) {}

  /**
   * The raw stream: Nest hands it through, so a message costs no more than with grpc-js alone (ADR 0009).
   * The guard is left out because an error that it throws for a raw stream reaches nobody; the check is here.
   */
  @GrpcStreamCall(SERVICE, 'Session')
  @NoCredential()
  session(stream: ServerDuplexStream<workerV1.SessionRequest, workerV1.SessionResponse>): void {
    try {
      const principal = this.platform.auth.authenticate(authorizationOf(stream.metadata));
      requireRole(principal, ['worker']);
      this.sessions.accept(stream, principal.namespace);
    } catch (error) {
      const reply = toGrpcReply(error, new Metadata()) ?? { code: 13, message: 'internal error', details: '' };
      stream.emit('error', reply);
    }
  }

  @GrpcMethod(SERVICE, 'AcquireTaskLease')
  acquireTaskLease(request: workerV1.AcquireTaskLeaseRequest, metadata: Metadata) {
    return this.calls.acquire(principalOf(metadata).namespace, request);
  }

  @GrpcMethod(SERVICE, 'AcquireTaskLeases')
  async acquireTaskLeases(
    request: workerV1.AcquireTaskLeasesRequest,
    metadata: Metadata,
  ): Promise<workerV1.AcquireTaskLeasesResponse> {
    const { namespace } = principalOf(metadata);
    const retry = workerV1.AcquireStatus.ACQUIRE_STATUS_RETRY;
    const items = await each(
      request.items,
      (item) => this.calls.acquire(namespace, item),
      (item) => workerV1.AcquireTaskLeaseResponse.fromPartial({ status: retry, taskId: item.taskId }),
    );
    return { items };
  }

  @GrpcMethod(SERVICE, 'Heartbeat')
  heartbeat(request: workerV1.HeartbeatRequest, metadata: Metadata) {
    return this.calls.heartbeat(principalOf(metadata).namespace, request);
  }

  @GrpcMethod(SERVICE, 'Heartbeats')
  async heartbeats(request: workerV1.HeartbeatsRequest, metadata: Metadata): Promise<workerV1.HeartbeatsResponse> {
    const { namespace } = principalOf(metadata);
    const items = await each(
      request.items,
      (item) => this.calls.heartbeat(namespace, item),
      (item) => ({ status: workerV1.HeartbeatStatus.HEARTBEAT_STATUS_RETRY, ttlMs: 0n, taskId: item.taskId }),
    );
    return { items };
  }

  @GrpcMethod(SERVICE, 'ReportTaskResult')
  reportTaskResult(request: workerV1.ReportTaskResultRequest, metadata: Metadata) {
    return this.calls.report(principalOf(metadata).namespace, request);
  }

  @GrpcMethod(SERVICE, 'ReportTaskResults')
  async reportTaskResults(
    request: workerV1.ReportTaskResultsRequest,
    metadata: Metadata,
  ): Promise<workerV1.ReportTaskResultsResponse> {
    const { namespace } = principalOf(metadata);
    const unspecified = workerV1.ReportOutcome.REPORT_OUTCOME_UNSPECIFIED;
    const items = await each(
      request.items,
      (item) => this.calls.report(namespace, item),
      (item) => ({ acknowledged: false, outcome: unspecified, taskId: item.taskId }),
    );
    return { items };
  }
}

/**
 * Items of a batch are independent: one that cannot be answered now says so in its place. One that could never be
 * answered (missing ids, a negative attempt) fails the call and is named, after the others have been done.
 */
async function each<Item, Answer>(
  items: readonly Item[],
  call: (item: Item) => Promise<Answer>,
  notNow: (item: Item) => Answer,
): Promise<Answer[]> {
  if (items.length > MAX_ITEMS)
    throw new ApiError('invalid', 'TOO_MANY_ITEMS', `at most ${MAX_ITEMS} items in one call`);
  const settled = await Promise.allSettled(items.map(call));
  return settled.map((result, index) => {
    if (result.status === 'fulfilled') return result.value;
    const shape = describeError(result.reason);
    if (shape?.kind === 'unavailable') return notNow(items[index] as Item);
    if (shape === undefined) throw result.reason;
    const details = shape.details.map((detail) => ({ ...detail, pointer: `/items/${index}${detail.pointer}` }));
    throw new ApiError(shape.kind, shape.code, `item ${index}: ${shape.message}`, details);
  });
}
