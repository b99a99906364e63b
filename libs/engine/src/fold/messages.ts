import type { DispatchTask, Journal, JsonText, RunState } from '@baton/core';
import { utf8Length } from '@baton/core';
import type { EventNames } from '../options.js';

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

export const defaultEvents: EventNames = {
  topic: eventsTopic,
  describe: (run, journal) => ({ type: journal.kind, payload: eventMessage(run, journal) }),
};

/** Names of the deployment's own choosing; if they cannot be had, the event goes out under the engine's. */
export function nameEvent(
  names: EventNames,
  run: RunState,
  journal: Journal,
): { readonly topic: string; readonly type: string; readonly payload: JsonText } {
  try {
    return { topic: names.topic(run.namespace), ...names.describe(run, journal) };
  } catch {
    return { topic: defaultEvents.topic(run.namespace), ...defaultEvents.describe(run, journal) };
  }
}

/** FNV-1a. Spreads runs over lanes and outbox shards; nothing stored depends on it but `outbox.shard`. */
export function hashOfRun(runId: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < runId.length; index += 1) {
    hash = Math.imul(hash ^ runId.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
