import type { registryV1, runV1 } from '@baton/contracts';
import { runStatus, taskStatus } from '@baton/wire';
import { type JsonOut, RawJson, rawOrUndefined } from '../http/json-out.js';

/** Proto messages to the JSON of the API. Proto has no null: an empty text means "none". */

const orNull = (text: string): string | null => (text === '' ? null : text);

export function renderRunStatus(status: runV1.RunStatus): string {
  const name = runStatus.fromProto(status);
  if (name === undefined) throw new Error(`a run status that this gateway does not know: ${status}`);
  return name;
}

function renderFailure(failure: runV1.Failure | undefined): JsonOut {
  if (failure === undefined) return null;
  return { code: failure.code, message: failure.message, nodeId: orNull(failure.nodeId) };
}

export function renderRun(run: runV1.Run | undefined): JsonOut {
  if (run === undefined) throw new Error('the coordinator answered without a run');
  return {
    runId: run.runId,
    namespace: run.namespace,
    definitionId: run.definitionId,
    definitionVersion: run.definitionVersion,
    status: renderRunStatus(run.status),
    cause: orNull(run.cause),
    compensation: run.compensation,
    epoch: run.epoch,
    failure: renderFailure(run.failure),
    startedAt: run.startedAt,
    endedAt: orNull(run.endedAt),
    businessKey: orNull(run.businessKey),
    stuckReason: orNull(run.stuckReason),
  };
}

function renderTask(task: runV1.Task): JsonOut {
  const status = taskStatus.fromProto(task.status);
  if (status === undefined) throw new Error(`a task status that this gateway does not know: ${task.status}`);
  return {
    taskId: task.taskId,
    nodeId: task.nodeId,
    item: task.item,
    kind: task.kind,
    generation: task.generation,
    status,
    attempt: task.attempt,
    failures: task.failures,
    losses: task.losses,
    unknownOutcome: task.unknownOutcome,
    failure: renderFailure(task.failure),
    leaseOwner: orNull(task.leaseOwner),
    createdAt: task.createdAt,
    settledAt: orNull(task.settledAt),
    input: rawOrUndefined(task.input),
    output: rawOrUndefined(task.output),
  };
}

export function renderRunDetails(details: runV1.GetRunResponse): JsonOut {
  return {
    run: renderRun(details.run),
    tasks: details.tasks.map(renderTask),
    bufferedSignals: details.bufferedSignals.map(({ signalId, name, receivedAt }) => ({ signalId, name, receivedAt })),
    input: rawOrUndefined(details.input),
    output: rawOrUndefined(details.output),
  };
}

export function renderHistory(page: runV1.GetHistoryResponse): JsonOut {
  return {
    entries: page.entries.map((entry) => ({
      seq: Number(entry.seq),
      epoch: entry.epoch,
      kind: entry.kind,
      nodeId: orNull(entry.nodeId),
      taskId: orNull(entry.taskId),
      taskKind: orNull(entry.taskKind),
      attempt: entry.attempt === 0 ? null : entry.attempt,
      code: orNull(entry.code),
      detail: orNull(entry.detail),
      at: entry.at,
    })),
    nextAfterSeq: page.nextAfterSeq === 0n ? undefined : Number(page.nextAfterSeq),
  };
}

export function renderDefinition(definition: registryV1.Definition | undefined): JsonOut {
  if (definition === undefined) throw new Error('the registry answered without a definition');
  const { namespace, id, version, contentHash, deployed, createdAt, spec } = definition;
  return {
    namespace,
    id,
    version,
    contentHash,
    deployed,
    createdAt,
    spec: spec === '' ? undefined : new RawJson(spec),
  };
}

export function renderIssues(issues: readonly registryV1.Issue[]): JsonOut {
  return issues.map(({ severity, code, message, pointer }) => ({ severity, code, message, pointer }));
}
