import type { IncomingMessage } from 'node:http';
import { runV1 } from '@baton/contracts';
import { Controller, Get, Inject, Param, Post, Req } from '@nestjs/common';
import { readJsonBody } from '../http/body.js';
import { type JsonOut, rawOrUndefined } from '../http/json-out.js';
import { readPath, readQuery } from '../http/query.js';
import { ok, REPLAYED, type Reply } from '../http/reply.js';
import { contextOf } from '../http/request-context.js';
import { LongPolls } from '../upstream/long-polls.js';
import { RunClient } from '../upstream/run-client.js';
import { runStatus as statusTable } from '@baton/wire';
import { chosenKey, newRunId, requestIdFor, traceparentOf } from './ids.js';
import { getRunQuery, historyQuery, listRunsQuery, noQuery, resultQuery } from './queries.js';
import { renderHistory, renderRun, renderRunDetails, renderRunStatus } from './render.js';
import * as shape from './schemas.js';

@Controller('v1/runs')
export class RunsController {
  constructor(
    @Inject(RunClient) private readonly runs: RunClient,
    @Inject(LongPolls) private readonly polls: LongPolls,
  ) {}

  @Post()
  async start(@Req() request: IncomingMessage): Promise<Reply> {
    readQuery(request, noQuery);
    const context = contextOf(request);
    const { fields, raw } = readJsonBody(context.body, {
      schema: shape.startRunFields,
      raw: ['input'],
      optional: false,
    });
    const idempotencyKey = chosenKey(request, fields.idempotencyKey, 'idempotencyKey');
    const named = idempotencyKey !== undefined || fields.runId !== undefined;
    const input = raw.get('input');
    const answer = await this.runs.start(
      runV1.StartRunRequest.fromPartial({
        definitionId: fields.definitionId,
        definitionVersion: fields.definitionVersion ?? 0,
        ...(input === undefined ? {} : { input }),
        // Without any key of the caller the run id is ours: a repetition after a lost answer finds the same run.
        runId: named ? (fields.runId ?? '') : newRunId(),
        idempotencyKey: idempotencyKey ?? '',
        businessKey: fields.businessKey ?? '',
        startNodeId: fields.startNodeId ?? '',
        startedAtUnixMs: fields.startedAt === undefined ? 0n : instantMs(fields.startedAt),
        traceparent: traceparentOf(request),
      }),
      context,
    );
    const created = answer.created || !named;
    const body = { runId: answer.runId, created, status: renderRunStatus(answer.status) };
    const location = { location: `/v1/runs/${answer.runId}` };
    return created ? { status: 201, body, headers: location } : ok(body, { ...location, ...REPLAYED });
  }

  @Get()
  async list(@Req() request: IncomingMessage): Promise<Reply> {
    const query = readQuery(request, listRunsQuery);
    const page = await this.runs.list(
      {
        definitionId: query.definitionId ?? '',
        definitionVersion: query.definitionVersion ?? 0,
        statuses: (query.status ?? []).map((status) => statusTable.toProto(status)),
        businessKey: query.businessKey ?? '',
        pageSize: query.pageSize ?? 0,
        cursor: query.cursor ?? '',
      },
      contextOf(request),
    );
    return ok({
      runs: page.runs.map(renderRun),
      nextCursor: page.nextCursor === '' ? undefined : page.nextCursor,
    });
  }

  @Get(':runId')
  async get(@Req() request: IncomingMessage, @Param('runId') id: string): Promise<Reply> {
    const runId = readPath(id, 'runId', shape.runId);
    const { payloads } = readQuery(request, getRunQuery);
    const details = await this.runs.get({ runId, includePayloads: payloads ?? false }, contextOf(request));
    return ok(renderRunDetails(details));
  }

  @Get(':runId/result')
  async result(@Req() request: IncomingMessage, @Param('runId') id: string): Promise<Reply> {
    const runId = readPath(id, 'runId', shape.runId);
    const { waitMs } = readQuery(request, resultQuery);
    const result = await this.polls.result({ runId, waitMs: BigInt(waitMs ?? 0) }, contextOf(request));
    const body: JsonOut = {
      run: renderRun(result.run),
      finished: result.finished,
      output: rawOrUndefined(result.output),
    };
    return ok(body);
  }

  @Get(':runId/history')
  async history(@Req() request: IncomingMessage, @Param('runId') id: string): Promise<Reply> {
    const runId = readPath(id, 'runId', shape.runId);
    const { afterSeq, pageSize } = readQuery(request, historyQuery);
    const page = await this.runs.history(
      { runId, afterSeq: BigInt(afterSeq ?? 0), pageSize: pageSize ?? 0 },
      contextOf(request),
    );
    return ok(renderHistory(page));
  }

  @Post(':runId/signals/:name')
  async signal(
    @Req() request: IncomingMessage,
    @Param('runId') id: string,
    @Param('name') givenName: string,
  ): Promise<Reply> {
    const runId = readPath(id, 'runId', shape.runId);
    const name = readPath(givenName, 'name', shape.signalName);
    readQuery(request, noQuery);
    const context = contextOf(request);
    const { fields, raw } = readJsonBody(context.body, {
      schema: shape.signalFields,
      raw: ['payload'],
      optional: true,
    });
    const payload = raw.get('payload');
    const answer = await this.runs.signal(
      runV1.SignalRunRequest.fromPartial({
        runId,
        name,
        ...(payload === undefined ? {} : { payload }),
        signalId: chosenKey(request, fields.signalId, 'signalId') ?? newRunId(),
        expiresInMs: BigInt(fields.expiresInMs ?? 0),
      }),
      context,
    );
    const { delivered, duplicate, signalId } = answer;
    return ok({ delivered, duplicate, signalId }, duplicate ? REPLAYED : {});
  }

  @Post([':runId\\:cancel', ':runId/cancel'])
  async cancel(@Req() request: IncomingMessage, @Param('runId') id: string): Promise<Reply> {
    const runId = readPath(id, 'runId', shape.runId);
    readQuery(request, noQuery);
    const context = contextOf(request);
    const { fields } = readJsonBody(context.body, { schema: shape.cancelFields, raw: [], optional: true });
    const requestId = requestIdFor(request, fields.requestId);
    const answer = await this.runs.cancel({ runId, reason: fields.reason ?? '', requestId }, context);
    const { duplicate } = answer;
    return ok({ status: renderRunStatus(answer.status), duplicate }, duplicate ? REPLAYED : {});
  }

  @Post([':runId\\:retry', ':runId/retry'])
  async retry(@Req() request: IncomingMessage, @Param('runId') id: string): Promise<Reply> {
    const runId = readPath(id, 'runId', shape.runId);
    readQuery(request, noQuery);
    const context = contextOf(request);
    const { fields, raw } = readJsonBody(context.body, { schema: shape.retryFields, raw: ['input'], optional: true });
    const input = raw.get('input');
    const answer = await this.runs.retry(
      runV1.RetryRunRequest.fromPartial({
        runId,
        fromNodeId: fields.fromNodeId ?? '',
        definitionVersion: fields.definitionVersion === 'deployed' ? -1 : (fields.definitionVersion ?? 0),
        ...(input === undefined ? {} : { input }),
        requestId: requestIdFor(request, fields.requestId),
      }),
      context,
    );
    return this.retried(answer);
  }

  @Post([':runId\\:retry-compensation', ':runId/retry-compensation'])
  async retryCompensation(@Req() request: IncomingMessage, @Param('runId') id: string): Promise<Reply> {
    const runId = readPath(id, 'runId', shape.runId);
    readQuery(request, noQuery);
    const context = contextOf(request);
    const { fields } = readJsonBody(context.body, { schema: shape.retryCompensationFields, raw: [], optional: true });
    const requestId = requestIdFor(request, fields.requestId);
    return this.retried(await this.runs.retryCompensation({ runId, requestId }, context));
  }

  private retried(answer: runV1.RetryRunResponse | runV1.RetryCompensationResponse): Reply {
    const { epoch, duplicate } = answer;
    return ok({ epoch, status: renderRunStatus(answer.status), duplicate }, duplicate ? REPLAYED : {});
  }
}

/** 0 would mean that none was given: what is older than 1970 is refused for being too old, like any other. */
function instantMs(instant: string): bigint {
  return BigInt(Math.max(1, Date.parse(instant)));
}
