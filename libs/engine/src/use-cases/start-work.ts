import { canonicalJson } from '@baton/core';
import type { EngineError, RunStartedResult, StartRun } from '../api.js';
import type { StartWork } from '../lane/start-decider.js';
import {
  checkClientRunId,
  checkDefinitionId,
  checkJson,
  checkName,
  checkStartedAt,
  traceparentOrNone,
} from './checks.js';
import { checkVersion } from './command-works.js';

export interface StartWorkDeps {
  readonly newId: () => string;
  readonly hash: (text: string) => string;
  readonly nowMs: number;
  readonly settle: (result: RunStartedResult | EngineError) => void;
}

export function startWork(raw: StartRun, deps: StartWorkDeps): StartWork {
  checkDefinitionId(raw.definitionId);
  if (raw.definitionVersion !== undefined) checkVersion(raw.definitionVersion);
  const runId = raw.runId === undefined ? deps.newId() : checkClientRunId(raw.runId, deps.nowMs);
  checkStartedAt(raw.startedAtMs, deps.nowMs);
  if (raw.input !== null) checkJson(raw.input, 'input');
  if (raw.idempotencyKey !== undefined) checkName(raw.idempotencyKey, 'idempotencyKey');
  if (raw.businessKey !== undefined) checkName(raw.businessKey, 'businessKey');
  if (raw.startNodeId !== undefined) checkName(raw.startNodeId, 'startNodeId');
  const { traceparent: rawTrace, ...rest } = raw;
  const traceparent = traceparentOrNone(rawTrace);
  const isCompared = raw.idempotencyKey !== undefined || raw.runId !== undefined;
  return {
    command: { ...rest, ...(traceparent === undefined ? {} : { traceparent }) },
    runId,
    isClientRunId: raw.runId !== undefined,
    requestHash: isCompared ? requestHash(raw, deps.hash) : '',
    size: raw.input?.length ?? 0,
    settle: deps.settle,
    dataErrors: 0,
  };
}

/**
 * R24: over canonical JSON plus definition and version, as they were asked for: "the deployed version" asked twice is
 * the same request, also with a deploy in between.
 */
function requestHash(start: StartRun, hash: (text: string) => string): string {
  const input = start.input === null ? 'null' : canonicalJson(start.input);
  const { definitionId, definitionVersion, startNodeId, businessKey } = start;
  const parts = [definitionId, definitionVersion ?? null, startNodeId ?? null, businessKey ?? null];
  return hash(`${JSON.stringify(parts)}\n${input}`);
}
