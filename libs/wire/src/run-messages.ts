import type { runV1 } from '@baton/contracts';
import type { Failure, JsonText, RunStatus, TaskKind } from '@baton/core';
import { runStatus, taskStatus, type ShownTaskStatus } from './enums.js';

/** Runs, tasks and journal as the engine shows them, to proto. Clients read the messages themselves. */

export interface RunRecord {
  readonly runId: string;
  readonly namespace: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly status: RunStatus;
  readonly cause: string | null;
  readonly compensation: string;
  readonly epoch: number;
  readonly failure: Failure | null;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  readonly businessKey: string | null;
  readonly stuckReason: string | null;
}

export interface TaskRecord {
  readonly taskId: string;
  readonly nodeId: string;
  readonly item: number;
  readonly kind: TaskKind;
  readonly generation: number;
  readonly status: ShownTaskStatus;
  readonly attempt: number;
  readonly failures: number;
  readonly losses: number;
  readonly unknownOutcome: boolean;
  readonly failure: Failure | null;
  readonly leaseOwner: string | null;
  readonly createdAt: Date;
  readonly settledAt: Date | null;
  readonly input?: JsonText | null;
  readonly output?: JsonText | null;
}

export interface JournalRecord {
  readonly seq: number;
  readonly epoch: number;
  readonly kind: string;
  readonly nodeId: string | null;
  readonly taskId: string | null;
  readonly taskKind: string | null;
  readonly attempt: number | null;
  readonly code: string | null;
  readonly detail: string | null;
  readonly at: Date;
}

export interface RunDetailsRecord {
  readonly run: RunRecord;
  readonly tasks: readonly TaskRecord[];
  readonly bufferedSignals: readonly { readonly signalId: string; readonly name: string; readonly receivedAt: Date }[];
  readonly input?: JsonText | null;
  readonly output?: JsonText | null;
}

export function runToProto(run: RunRecord): runV1.Run {
  return {
    runId: run.runId,
    namespace: run.namespace,
    definitionId: run.definitionId,
    definitionVersion: run.definitionVersion,
    status: runStatus.toProto(run.status),
    cause: run.cause ?? '',
    compensation: run.compensation,
    epoch: run.epoch,
    failure: failureToProto(run.failure),
    startedAt: run.startedAt.toISOString(),
    endedAt: timeToProto(run.endedAt),
    businessKey: run.businessKey ?? '',
    stuckReason: run.stuckReason ?? '',
  };
}

export function taskToProto(task: TaskRecord): runV1.Task {
  return {
    taskId: task.taskId,
    nodeId: task.nodeId,
    item: task.item,
    kind: task.kind,
    generation: task.generation,
    status: taskStatus.toProto(task.status),
    attempt: task.attempt,
    failures: task.failures,
    losses: task.losses,
    unknownOutcome: task.unknownOutcome,
    failure: failureToProto(task.failure),
    leaseOwner: task.leaseOwner ?? '',
    createdAt: task.createdAt.toISOString(),
    settledAt: timeToProto(task.settledAt),
    input: task.input ?? undefined,
    output: task.output ?? undefined,
  };
}

export function runDetailsToProto(details: RunDetailsRecord): runV1.GetRunResponse {
  return {
    run: runToProto(details.run),
    tasks: details.tasks.map(taskToProto),
    input: details.input ?? undefined,
    output: details.output ?? undefined,
    bufferedSignals: details.bufferedSignals.map((signal) => ({
      signalId: signal.signalId,
      name: signal.name,
      receivedAt: signal.receivedAt.toISOString(),
    })),
  };
}

export function journalToProto(entry: JournalRecord): runV1.HistoryEntry {
  return {
    seq: BigInt(entry.seq),
    epoch: entry.epoch,
    kind: entry.kind,
    nodeId: entry.nodeId ?? '',
    taskId: entry.taskId ?? '',
    taskKind: entry.taskKind ?? '',
    attempt: entry.attempt ?? 0,
    code: entry.code ?? '',
    detail: entry.detail ?? '',
    at: entry.at.toISOString(),
  };
}

function failureToProto(failure: Failure | null): runV1.Failure | undefined {
  return failure ? { code: failure.code, message: failure.message, nodeId: failure.nodeId ?? '' } : undefined;
}

function timeToProto(time: Date | null): string {
  return time ? time.toISOString() : '';
}
