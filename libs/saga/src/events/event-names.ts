import type { JournalKind, JsonText, RunState } from '@baton/core';
import { utf8Length } from '@baton/core';
import type { EventNames } from '@baton/engine';

/** The last part of an event's type: `saga.<definition>.<kind>`. They never change. */
export type SagaEventName =
  | 'started'
  | 'reopened'
  | 'step_completed'
  | 'step_failed'
  | 'step_timed_out'
  | 'compensation_started'
  | 'step_compensated'
  | 'step_compensation_failed'
  | 'succeeded'
  | 'failed'
  | 'compensated'
  | 'compensation_failed'
  | 'expired'
  | 'cancelled';

/** What every event of a saga says. */
export interface SagaEventPayload {
  /** Id of the saga's run. */
  readonly instanceId: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  /** Position in the journal of the run: orders its events, and tells doubles. */
  readonly version: number;
  /** 1, and one more each time an ended run is opened again. */
  readonly epoch: number;
  /** The step that the event tells of; of an undo's begin and of a failed end, the step that caused it. */
  readonly step?: string;
  /** Of the step; from 1. */
  readonly attempt?: number;
  /** Why: of failures, of undos and of ends that are none of success. */
  readonly code?: string;
}

export interface StepEventPayload extends SagaEventPayload {
  readonly step: string;
}

/** Type `saga.<definition>.step_completed`. */
export type StepCompletedEvent = SagaEventOf<'step_completed', StepEventPayload>;

export interface SagaEventOf<N extends SagaEventName, P extends SagaEventPayload = SagaEventPayload> {
  readonly type: `saga.${string}.${N}`;
  readonly name: N;
  readonly definitionId: string;
  readonly payload: P;
}

type StepName = 'step_completed' | 'step_failed' | 'step_timed_out' | 'step_compensated' | 'step_compensation_failed';

/** Any event of a saga; `name` tells them apart. */
export type AnySagaEvent =
  | { [N in StepName]: SagaEventOf<N, StepEventPayload> }[StepName]
  | { [N in Exclude<SagaEventName, StepName>]: SagaEventOf<N> }[Exclude<SagaEventName, StepName>];

const NAMES: Readonly<Partial<Record<JournalKind, SagaEventName>>> = {
  'run.started': 'started',
  'run.reopened': 'reopened',
  'run.compensation_started': 'compensation_started',
  'run.succeeded': 'succeeded',
  'run.failed': 'failed',
  'run.compensated': 'compensated',
  'run.compensation_failed': 'compensation_failed',
  'run.expired': 'expired',
  'run.cancelled': 'cancelled',
  'node.succeeded': 'step_completed',
  'node.failed': 'step_failed',
  'node.timed_out': 'step_timed_out',
  'node.compensated': 'step_compensated',
  'node.compensation_failed': 'step_compensation_failed',
};

const KNOWN: ReadonlySet<string> = new Set(Object.values(NAMES));

/** undefined = the journal tells of it, and no event does. */
export function sagaEventNameOf(kind: JournalKind): SagaEventName | undefined {
  return NAMES[kind];
}

export function sagaEventType<N extends SagaEventName>(definitionId: string, name: N): `saga.${string}.${N}` {
  return `saga.${definitionId}.${name}`;
}

export interface SagaEventOptions {
  /** Default `baton.<namespace>.events`. */
  readonly topic?: string | ((namespace: string) => string);
}

/** How the engine tells of sagas, by the outbox, in the commit of what it tells of. */
export function sagaEventNames({ topic }: SagaEventOptions = {}): EventNames {
  return {
    topic: (namespace) => (typeof topic === 'function' ? topic(namespace) : (topic ?? `baton.${namespace}.events`)),
    describe: (run, journal) => ({
      type: sagaEventType(run.definitionId, NAMES[journal.kind] ?? unnamed(journal.kind)),
      payload: JSON.stringify(payloadOf(run, journal)),
    }),
  };
}

type JournalRow = Parameters<EventNames['describe']>[1];

function payloadOf(run: RunState, journal: JournalRow): SagaEventPayload {
  return {
    instanceId: run.runId,
    definitionId: run.definitionId,
    definitionVersion: run.definitionVersion,
    version: journal.seq,
    epoch: run.epoch,
    ...(journal.nodeId !== null && { step: journal.nodeId }),
    ...(journal.attempt !== null && { attempt: journal.attempt }),
    ...(journal.code !== null && { code: journal.code }),
  };
}

/** The engine then names the event itself: an event under its plain name is better than none. */
function unnamed(kind: JournalKind): never {
  throw new Error(`${kind} has no name as an event of a saga`);
}

const TYPE = /^saga\.([a-z0-9_-]{1,63})\.([a-z_]+)$/;
const LARGEST_PAYLOAD = 64 * 1024;

/** Reads an event back. undefined = it is none of a saga, or of a newer build: let it pass. */
export function parseSagaEvent(type: string, payload: JsonText): AnySagaEvent | undefined {
  const [, definitionId, name] = TYPE.exec(type) ?? [];
  if (definitionId === undefined || name === undefined || !KNOWN.has(name)) return undefined;
  const body = objectOf(payload);
  const isWhole =
    typeof body?.['instanceId'] === 'string' &&
    body['definitionId'] === definitionId &&
    Number.isSafeInteger(body['version']) &&
    (!name.startsWith('step_') || typeof body['step'] === 'string');
  if (!isWhole) return undefined;
  return { type, name, definitionId, payload: body } as unknown as AnySagaEvent;
}

function objectOf(text: JsonText): Record<string, unknown> | undefined {
  if (utf8Length(text) > LARGEST_PAYLOAD) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
