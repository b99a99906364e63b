import { encodeResult } from '@baton/execution';
import { isDefinitionId, type JsonText } from '@baton/core';
import { FaultList } from '../definition/faults.js';
import { isSaga } from '../definition/define-saga.js';
import { readDuration, refuseOthers } from '../definition/read-policies.js';
import { SagaError } from '../journal/errors.js';
import { sagaStatuses } from '../journal/kinds.js';
import type { ListSagas, SignalOptions, StartOptions } from './types.js';

const LONGEST_NAME = 255;
export const MAX_PAGE_SIZE = 100;
const MAX_HISTORY = 1_000;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const START_FIELDS = ['tx', 'runId', 'idempotencyKey', 'businessKey', 'traceparent', 'version'];

/** Everything that is wrong with a call, at once. */
class CallFaults extends FaultList {
  name(value: unknown, pointer: string, { required = false } = {}): void {
    if (value === undefined && !required) return;

    const fits = typeof value === 'string' && /^[^\u0000-\u001f]+$/.test(value) && value.isWellFormed();
    if (fits && value.length <= LONGEST_NAME) return;
    this.add('INVALID_NAME', pointer, `expected 1 to ${LONGEST_NAME} characters, and no control characters`);
  }

  wholeNumber(value: unknown, pointer: string, from: number, to: number): void {
    if (value === undefined) return;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= from && value <= to) return;
    this.add('OUT_OF_RANGE', pointer, `expected a whole number from ${from} to ${to}`);
  }

  /** As what a step returns is encoded: nothing is lost in silence. */
  json(value: unknown, pointer: string): JsonText {
    const encoded = encodeResult(value, 'the value');
    if (encoded.ok) return encoded.text;
    this.add(encoded.code, pointer, encoded.message);
    return 'null';
  }

  throwIfAnyIn(call: string): void {
    if (this.details.length === 0) return;
    const all = this.details.map(({ pointer, message }) => `${pointer}: ${message}`).join('; ');
    throw new SagaError('invalid', 'CALL_INVALID', `${call}: ${all}`, { details: this.details });
  }
}

/** Answers the input as JSON text. */
export function checkStart(saga: unknown, input: unknown, options: StartOptions): JsonText | null {
  const faults = new CallFaults();
  if (typeof saga === 'string') {
    if (!isDefinitionId(saga)) faults.add('INVALID_NAME', '/saga', 'expected the id of a saga');
  } else if (!isSaga(saga)) {
    faults.add('WRONG_TYPE', '/saga', 'expected a saga made by defineSaga, or the id of one');
  }
  refuseOthers(options, START_FIELDS, [], faults);
  const { tx, runId, idempotencyKey, businessKey, traceparent, version } = options;
  if (tx !== undefined && typeof (tx as { query?: unknown } | null)?.query !== 'function') {
    faults.add('WRONG_TYPE', '/tx', 'expected a client, an EntityManager or a QueryRunner: something with query');
  }
  if (runId !== undefined && !UUID_V7.test(runId)) faults.add('RUN_ID_NOT_UUIDV7', '/runId', 'expected a UUIDv7');
  faults.name(idempotencyKey, '/idempotencyKey');
  faults.name(businessKey, '/businessKey');
  if (traceparent !== undefined && !TRACEPARENT.test(traceparent)) {
    faults.add('TRACEPARENT_INVALID', '/traceparent', 'expected a traceparent of the W3C');
  }
  faults.wholeNumber(version, '/version', 1, 2_147_483_647);
  const text = input === undefined ? null : faults.json(input, '/input');
  faults.throwIfAnyIn('start');
  return text;
}

export function checkSignal(name: unknown, payload: unknown, { signalId, expiresIn }: SignalOptions) {
  const faults = new CallFaults();
  faults.name(name, '/name', { required: true });
  faults.name(signalId, '/signalId');
  const expiresInMs = readDuration(expiresIn, ['expiresIn'], 1, faults);
  const text = faults.json(payload, '/payload');
  faults.throwIfAnyIn('signal');
  return { payload: text, expiresInMs };
}

export function checkList({ sagaId, version, statuses, businessKey, pageSize, cursor }: ListSagas): void {
  const faults = new CallFaults();
  if (sagaId !== undefined && !isDefinitionId(sagaId))
    faults.add('INVALID_NAME', '/sagaId', 'expected the id of a saga');
  faults.wholeNumber(version, '/version', 1, 2_147_483_647);
  faults.wholeNumber(pageSize, '/pageSize', 1, MAX_PAGE_SIZE);
  faults.name(businessKey, '/businessKey');
  if (cursor !== undefined && typeof cursor !== 'string') faults.add('WRONG_TYPE', '/cursor', 'expected a text');
  statuses?.forEach((status, index) => {
    if (sagaStatuses.includes(status)) return;
    faults.add('STATUS_UNKNOWN', `/statuses/${index}`, `known are ${sagaStatuses.join(', ')}`);
  });
  faults.throwIfAnyIn('list');
}

export function checkCommand(requestId: unknown, input?: unknown): JsonText | undefined {
  const faults = new CallFaults();
  faults.name(requestId, '/requestId');
  const text = input === undefined ? undefined : faults.json(input, '/input');
  faults.throwIfAnyIn('the command');
  return text;
}

export function checkHistory(after: unknown, limit: unknown): void {
  const faults = new CallFaults();
  faults.wholeNumber(after, '/after', 0, Number.MAX_SAFE_INTEGER);
  faults.wholeNumber(limit, '/limit', 1, MAX_HISTORY);
  faults.throwIfAnyIn('history');
}

export function checkTimeout(timeoutMs: unknown): void {
  const faults = new CallFaults();
  faults.wholeNumber(timeoutMs, '/timeoutMs', 0, Number.MAX_SAFE_INTEGER);
  faults.throwIfAnyIn('result');
}

/** What is no id at all names nothing, and no database has to be asked. */
export function checkRunId(runId: unknown): string {
  if (typeof runId === 'string' && UUID.test(runId)) return runId.toLowerCase();
  throw new SagaError('not-found', 'RUN_NOT_FOUND', `there is no run ${JSON.stringify(runId)}`);
}
