import { runV1 } from '@baton/contracts';
import { ApiError } from './errors.js';
import {
  cancelFromProto,
  historyQueryFromProto,
  listFromProto,
  resultQueryFromProto,
  retryFromProto,
  signalFromProto,
  startFromProto,
} from './run-commands.js';

const runId = '01920000-0000-7000-8000-00000000000A';
const made = () => 'made';

function problems(act: () => unknown): string[] {
  try {
    act();
  } catch (error) {
    if (error instanceof ApiError) return error.details.map((detail) => `${detail.pointer} ${detail.code}`);
    throw error;
  }
  return [];
}

describe('a start', () => {
  const start = (fields: Partial<runV1.StartRunRequest>) =>
    startFromProto('default', runV1.StartRunRequest.fromPartial({ definitionId: 'order', ...fields }));

  it('leaves out what was not said', () => {
    expect(start({})).toEqual({ namespace: 'default', definitionId: 'order', input: null });
  });

  it('keeps the text of the input, and writes ids as the database does', () => {
    const input = '{"n":12345678901234567890, "a": [ ]}';
    expect(start({ input, runId, definitionVersion: 2, startedAtUnixMs: 1_700_000_000_000n })).toMatchObject({
      ...{ input, runId: runId.toLowerCase(), definitionVersion: 2, startedAtMs: 1_700_000_000_000 },
    });
  });

  it('names everything that is wrong at once', () => {
    const fields = {
      definitionId: 'A.b',
      definitionVersion: -1,
      runId: 'x',
      idempotencyKey: 'a\0b',
      startedAtUnixMs: -1n,
    };
    expect(problems(() => start(fields))).toEqual([
      '/definition_id BAD_NAME',
      '/definition_version NEGATIVE',
      '/run_id NOT_A_UUID',
      '/idempotency_key NUL',
      '/started_at_unix_ms NEGATIVE',
    ]);
    expect(problems(() => start({ businessKey: 'x'.repeat(256), startNodeId: '\ud800' }))).toEqual([
      '/business_key TOO_LONG',
      '/start_node_id SURROGATE',
    ]);
    expect(problems(() => start({ startedAtUnixMs: 2n ** 60n }))).toEqual(['/started_at_unix_ms TOO_LARGE']);
  });

  it('ignores a trace header that is none', () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    expect(start({ traceparent })).toMatchObject({ traceparent });
    expect(start({ traceparent: 'nonsense' })).not.toHaveProperty('traceparent');
  });
});

describe('a command', () => {
  it('without an id gets one at the edge (R6)', () => {
    const signal = runV1.SignalRunRequest.fromPartial({ runId, name: 'approved' });
    expect(signalFromProto('n', signal, made)).toMatchObject({ signalId: 'made', payload: 'null' });
    const cancel = runV1.CancelRunRequest.fromPartial({ runId, requestId: 'mine' });
    expect(cancelFromProto('n', cancel, made)).toMatchObject({ requestId: 'mine' });
  });

  it('to retry may keep, name or ask for the deployed version', () => {
    const retry = (definitionVersion: number) =>
      retryFromProto('n', runV1.RetryRunRequest.fromPartial({ runId, definitionVersion }), made);
    expect(retry(0)).not.toHaveProperty('definitionVersion');
    expect(retry(3)).toMatchObject({ definitionVersion: 3 });
    expect(retry(-1)).toMatchObject({ definitionVersion: 'deployed' });
    expect(problems(() => retry(-2))).toEqual(['/definition_version NEGATIVE']);
  });
});

describe('a question', () => {
  it('has pages within limits', () => {
    const list = (fields: Partial<runV1.ListRunsRequest>) =>
      listFromProto('n', runV1.ListRunsRequest.fromPartial(fields));
    expect(list({})).toEqual({ namespace: 'n', pageSize: 50 });
    expect(list({ pageSize: 100, statuses: [runV1.RunStatus.RUN_STATUS_FAILED] })).toMatchObject({
      statuses: ['FAILED'],
    });
    expect(problems(() => list({ pageSize: 101, statuses: [0] }))).toEqual([
      '/page_size OUT_OF_RANGE',
      '/statuses/0 UNKNOWN_STATUS',
    ]);
    const history = (pageSize: number) => historyQueryFromProto({ runId, afterSeq: 0n, pageSize });
    expect(history(0).limit).toBe(200);
    expect(problems(() => history(1_001))).toEqual(['/page_size OUT_OF_RANGE']);
  });

  it('waits for a minute at most', () => {
    expect(resultQueryFromProto({ runId, waitMs: 60_000n }).waitMs).toBe(60_000);
    expect(problems(() => resultQueryFromProto({ runId, waitMs: 60_001n }))).toEqual(['/wait_ms TOO_LARGE']);
    expect(problems(() => resultQueryFromProto({ runId: '', waitMs: -1n }))).toEqual([
      '/run_id REQUIRED',
      '/wait_ms NEGATIVE',
    ]);
  });
});
