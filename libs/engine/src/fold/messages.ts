import type { DispatchTask, Journal, JsonText, RunState } from '@baton/core';
import { utf8Length } from '@baton/core';

/** A larger input travels in the answer of acquire (R35). */
export const largestMessageInputBytes = 32 * 1024;

export function tasksTopic(namespace: string, queue: string): string {
  return `baton.${namespace}.tasks.${queue}`;
}

export function eventsTopic(namespace: string): string {
  return `baton.${namespace}.events`;
}

/** What a worker is told. Raw text: the input goes in byte for byte. */
export function taskMessage(run: RunState, task: DispatchTask): JsonText {
  const bytes = utf8Length(task.input);
  const head = JSON.stringify({
    runId: run.runId,
    taskId: task.taskId,
    nodeId: task.nodeId,
    item: task.item,
    kind: task.kind,
    generation: task.generation,
    attempt: task.attempt,
    queue: task.queue,
    handler: task.handler,
    definitionId: run.definitionId,
    definitionVersion: run.definitionVersion,
    idempotencyKey: `${run.runId}/${task.nodeId}/${task.item}/${task.kind}/${task.generation}`,
    inputBytes: bytes,
  });
  return bytes > largestMessageInputBytes ? head : `${head.slice(0, -1)},"input":${task.input}}`;
}

/** A published journal row, as other systems see it. Null fields are left out. */
export function eventMessage(run: RunState, journal: Journal): JsonText {
  return JSON.stringify({
    runId: run.runId,
    namespace: run.namespace,
    definitionId: run.definitionId,
    definitionVersion: run.definitionVersion,
    kind: journal.kind,
    epoch: run.epoch,
    seq: journal.seq,
    nodeId: journal.nodeId ?? undefined,
    taskId: journal.taskId ?? undefined,
    attempt: journal.attempt ?? undefined,
    code: journal.code ?? undefined,
  });
}

/** FNV-1a. Spreads runs over lanes and outbox shards; nothing stored depends on it but `outbox.shard`. */
export function hashOfRun(runId: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < runId.length; index += 1) {
    hash = Math.imul(hash ^ runId.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
