import type { RunStatus } from '@baton/core';
import type { JournalWrite, OutboxWrite, RunWrite, SignalWrite, TimerClear, TimerWrite } from '@baton/engine';
import { columns, pushFailure, type Columns } from './columns.js';

const TERMINAL: Readonly<Record<RunStatus, boolean>> = {
  RUNNING: false,
  COMPENSATING: false,
  SUCCEEDED: true,
  FAILED: true,
  COMPENSATED: true,
  COMPENSATION_FAILED: true,
  EXPIRED: true,
  CANCELLED: true,
};

export function isTerminal(status: RunStatus): boolean {
  return TERMINAL[status];
}

const RUN_STATE = [
  'ord',
  'runId',
  'namespace',
  'definitionVersion',
  'status',
  'cause',
  'undo',
  'epoch',
  'journalSeq',
  'outboxSeq',
  'bufferedSignals',
  'failureCode',
  'failureMessage',
  'failureNode',
  'terminal',
] as const;

export type RunStateColumns = Columns<(typeof RUN_STATE)[number]>;

const RUNS = [...RUN_STATE, 'expectedVersion', 'fencedRows'] as const;
export type RunColumns = Columns<(typeof RUNS)[number]>;
export const runColumns = (): RunColumns => columns(RUNS);

const NEW_RUNS = [
  ...RUN_STATE,
  'definitionId',
  'route',
  'traceparent',
  'startedAtMs',
  'input',
  'output',
  'idempotencyKey',
  'businessKey',
  'bringsKey',
] as const;
export type NewRunColumns = Columns<(typeof NEW_RUNS)[number]>;
export const newRunColumns = (): NewRunColumns => columns(NEW_RUNS);

export function pushRunState(target: RunStateColumns, ord: number, write: RunWrite): void {
  const { run } = write;
  target.ord.push(ord);
  target.runId.push(write.runId);
  target.namespace.push(write.namespace);
  target.definitionVersion.push(run.definitionVersion);
  target.status.push(run.status);
  target.cause.push(run.cause);
  target.undo.push(run.undo);
  target.epoch.push(run.epoch);
  target.journalSeq.push(run.journalSeq);
  target.outboxSeq.push(run.outboxSeq);
  target.bufferedSignals.push(run.bufferedSignals);
  pushFailure(target, run.failure);
  target.terminal.push(isTerminal(run.status));
}

const JOURNAL = [
  'ord',
  'runId',
  'seq',
  'namespace',
  'epoch',
  'kind',
  'nodeId',
  'taskId',
  'taskKind',
  'attempt',
  'code',
  'detail',
] as const;
export type JournalColumns = Columns<(typeof JOURNAL)[number]>;
export const journalColumns = (): JournalColumns => columns(JOURNAL);

export function pushJournal(target: JournalColumns, ord: number, run: RunWrite, row: JournalWrite): void {
  target.ord.push(ord);
  target.runId.push(run.runId);
  target.seq.push(row.seq);
  target.namespace.push(run.namespace);
  target.epoch.push(row.epoch);
  target.kind.push(row.kind);
  target.nodeId.push(row.nodeId);
  target.taskId.push(row.taskId);
  target.taskKind.push(row.taskKind);
  target.attempt.push(row.attempt);
  target.code.push(row.code);
  target.detail.push(row.detail);
}

const OUTBOX = [
  'ord',
  'id',
  'runId',
  'runSeq',
  'namespace',
  'topic',
  'type',
  'payload',
  'traceparent',
  'shard',
] as const;
export type OutboxColumns = Columns<(typeof OUTBOX)[number]>;
export const outboxColumns = (): OutboxColumns => columns(OUTBOX);

export function pushOutbox(target: OutboxColumns, ord: number, run: RunWrite, row: OutboxWrite): void {
  target.ord.push(ord);
  target.id.push(row.id);
  target.runId.push(run.runId);
  target.runSeq.push(row.runSeq);
  target.namespace.push(run.namespace);
  target.topic.push(row.topic);
  target.type.push(row.type);
  target.payload.push(row.payload);
  target.traceparent.push(row.traceparent);
  target.shard.push(row.shard);
}

const NEW_TIMERS = [
  'ord',
  'timerId',
  'runId',
  'namespace',
  'kind',
  'nodeId',
  'generation',
  'afterMs',
  'fromRunStart',
] as const;
export type NewTimerColumns = Columns<(typeof NEW_TIMERS)[number]>;
export const newTimerColumns = (): NewTimerColumns => columns(NEW_TIMERS);

export function pushTimer(target: NewTimerColumns, ord: number, run: RunWrite, row: TimerWrite): void {
  target.ord.push(ord);
  target.timerId.push(row.timerId);
  target.runId.push(run.runId);
  target.namespace.push(run.namespace);
  target.kind.push(row.kind);
  target.nodeId.push(row.nodeId);
  target.generation.push(row.generation);
  target.afterMs.push(Math.round(row.afterMs));
  target.fromRunStart.push(row.from === 'run-start');
}

const CLEAR_TIMERS = ['ord', 'runId', 'kind', 'nodeId', 'timerId'] as const;
export type ClearTimerColumns = Columns<(typeof CLEAR_TIMERS)[number]>;
export const clearTimerColumns = (): ClearTimerColumns => columns(CLEAR_TIMERS);

export function pushTimerClear(target: ClearTimerColumns, ord: number, run: RunWrite, clear: TimerClear): void {
  target.ord.push(ord);
  target.runId.push(run.runId);
  target.kind.push(clear.scope === 'kind' ? clear.kind : null);
  target.nodeId.push(clear.scope === 'node' ? clear.nodeId : null);
  target.timerId.push(clear.scope === 'id' ? clear.timerId : null);
}

const NEW_SIGNALS = [
  'ord',
  'runId',
  'signalId',
  'namespace',
  'name',
  'payload',
  'payloadHash',
  'status',
  'seq',
  'expiresInMs',
  'consumedBy',
] as const;
export type NewSignalColumns = Columns<(typeof NEW_SIGNALS)[number]>;
export const newSignalColumns = (): NewSignalColumns => columns(NEW_SIGNALS);

export function pushNewSignal(target: NewSignalColumns, ord: number, run: RunWrite, row: SignalWrite): void {
  target.ord.push(ord);
  target.runId.push(run.runId);
  target.signalId.push(row.signalId);
  target.namespace.push(run.namespace);
  target.name.push(row.name);
  target.payload.push(row.payload);
  target.payloadHash.push(row.payloadHash);
  target.status.push(row.op === 'insert-consumed' ? 'CONSUMED' : 'BUFFERED');
  target.seq.push(row.seq);
  target.expiresInMs.push(row.expiresInMs);
  target.consumedBy.push(row.consumedBy);
}

const SIGNALS = ['n', 'ord', 'runId', 'signalId', 'consumedBy'] as const;
export type SignalColumns = Columns<(typeof SIGNALS)[number]>;
export const signalColumns = (): SignalColumns => columns(SIGNALS);

export function pushConsumedSignal(target: SignalColumns, ord: number, run: RunWrite, row: SignalWrite): void {
  target.n.push(target.ord.length);
  target.ord.push(ord);
  target.runId.push(run.runId);
  target.signalId.push(row.signalId);
  target.consumedBy.push(row.consumedBy);
}

const COMMANDS = ['ord', 'runId', 'namespace', 'key', 'requestHash'] as const;
export type CommandColumns = Columns<(typeof COMMANDS)[number]>;
export const commandColumns = (): CommandColumns => columns(COMMANDS);

const PAYLOADS = ['n', 'ord', 'runId', 'setInput', 'input', 'setOutput', 'output'] as const;
export type PayloadColumns = Columns<(typeof PAYLOADS)[number]>;
export const payloadColumns = (): PayloadColumns => columns(PAYLOADS);

/** Answers whether there was anything to write. */
export function pushPayloads(target: PayloadColumns, ord: number, run: RunWrite): boolean {
  const { input, output } = run.payloads;
  if (input === undefined && output === undefined) return false;
  target.n.push(target.ord.length);
  target.ord.push(ord);
  target.runId.push(run.runId);
  target.setInput.push(input !== undefined);
  target.input.push(input ?? null);
  target.setOutput.push(output !== undefined);
  target.output.push(output ?? null);
  return true;
}
