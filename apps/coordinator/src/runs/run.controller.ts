import type { Metadata, ServerUnaryCall } from '@grpc/grpc-js';
import { Controller, Inject } from '@nestjs/common';
import { GrpcMethod } from '@nestjs/microservices';
import type { runV1 } from '@baton/contracts';
import { isTerminal } from '@baton/core';
import type { EngineApi } from '@baton/engine';
import { AllowRoles, principalOf } from '@baton/platform';
import {
  cancelFromProto,
  historyQueryFromProto,
  journalToProto,
  listFromProto,
  resultQueryFromProto,
  retryCompensationFromProto,
  retryFromProto,
  runDetailsToProto,
  runIdFromProto,
  runStatus,
  runToProto,
  signalFromProto,
  startFromProto,
} from '@baton/wire';
import { randomUUID } from 'node:crypto';
import { ENGINE } from '../tokens.js';
import { ResultWaits } from './result-waits.js';

const SERVICE = 'RunService';

/** Commands to runs and questions about them: parse, ask the engine, render. */
@Controller()
@AllowRoles('client')
export class RunController {
  constructor(
    @Inject(ENGINE) private readonly engine: EngineApi,
    @Inject(ResultWaits) private readonly waits: ResultWaits,
  ) {}

  @GrpcMethod(SERVICE, 'StartRun')
  async startRun(request: runV1.StartRunRequest, metadata: Metadata): Promise<runV1.StartRunResponse> {
    const started = await this.engine.start(startFromProto(principalOf(metadata).namespace, request));
    return { runId: started.runId, created: started.created, status: runStatus.toProto(started.status) };
  }

  @GrpcMethod(SERVICE, 'GetRun')
  async getRun(request: runV1.GetRunRequest, metadata: Metadata): Promise<runV1.GetRunResponse> {
    const runId = runIdFromProto(request);
    return runDetailsToProto(await this.engine.getRun(principalOf(metadata).namespace, runId, request.includePayloads));
  }

  @GrpcMethod(SERVICE, 'ListRuns')
  async listRuns(request: runV1.ListRunsRequest, metadata: Metadata): Promise<runV1.ListRunsResponse> {
    const page = await this.engine.listRuns(listFromProto(principalOf(metadata).namespace, request));
    return { runs: page.runs.map(runToProto), nextCursor: page.nextCursor ?? '' };
  }

  @GrpcMethod(SERVICE, 'GetRunResult')
  async getRunResult(
    request: runV1.GetRunResultRequest,
    metadata: Metadata,
    call: ServerUnaryCall<runV1.GetRunResultRequest, runV1.GetRunResultResponse>,
  ): Promise<runV1.GetRunResultResponse> {
    const { runId, waitMs } = resultQueryFromProto(request);
    const { namespace } = principalOf(metadata);
    const details = await this.waits.within(call, (signal) =>
      this.engine.awaitResult(namespace, runId, waitMs, signal),
    );
    return {
      run: runToProto(details.run),
      finished: isTerminal(details.run.status),
      output: details.output ?? undefined,
    };
  }

  @GrpcMethod(SERVICE, 'SignalRun')
  async signalRun(request: runV1.SignalRunRequest, metadata: Metadata): Promise<runV1.SignalRunResponse> {
    const command = signalFromProto(principalOf(metadata).namespace, request, randomUUID);
    const { delivered, duplicate } = await this.engine.signal(command);
    return { delivered, duplicate, signalId: command.signalId };
  }

  @GrpcMethod(SERVICE, 'RetryRun')
  async retryRun(request: runV1.RetryRunRequest, metadata: Metadata): Promise<runV1.RetryRunResponse> {
    const result = await this.engine.retry(retryFromProto(principalOf(metadata).namespace, request, randomUUID));
    return { epoch: result.epoch, status: runStatus.toProto(result.status), duplicate: result.duplicate };
  }

  @GrpcMethod(SERVICE, 'RetryCompensation')
  async retryCompensation(
    request: runV1.RetryCompensationRequest,
    metadata: Metadata,
  ): Promise<runV1.RetryCompensationResponse> {
    const command = retryCompensationFromProto(principalOf(metadata).namespace, request, randomUUID);
    const result = await this.engine.retryCompensation(command);
    return { epoch: result.epoch, status: runStatus.toProto(result.status), duplicate: result.duplicate };
  }

  @GrpcMethod(SERVICE, 'CancelRun')
  async cancelRun(request: runV1.CancelRunRequest, metadata: Metadata): Promise<runV1.CancelRunResponse> {
    const result = await this.engine.cancel(cancelFromProto(principalOf(metadata).namespace, request, randomUUID));
    return { status: runStatus.toProto(result.status), duplicate: result.duplicate };
  }

  @GrpcMethod(SERVICE, 'GetHistory')
  async getHistory(request: runV1.GetHistoryRequest, metadata: Metadata): Promise<runV1.GetHistoryResponse> {
    const { runId, afterSeq, limit } = historyQueryFromProto(request);
    const entries = await this.engine.history(principalOf(metadata).namespace, runId, afterSeq, limit);
    const last = entries.length === limit ? (entries.at(-1)?.seq ?? 0) : 0;
    return { entries: entries.map(journalToProto), nextAfterSeq: BigInt(last) };
  }
}
