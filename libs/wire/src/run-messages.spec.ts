import { runV1 } from '@baton/contracts';
import { journalToProto, runDetailsToProto, type RunDetailsRecord } from './run-messages.js';

const at = new Date('2026-11-30T12:00:00.123Z');
const details: RunDetailsRecord = {
  run: {
    runId: 'r',
    namespace: 'default',
    definitionId: 'order',
    definitionVersion: 2,
    status: 'COMPENSATION_FAILED',
    cause: 'failure',
    compensation: 'FAILED',
    epoch: 1,
    failure: { code: 'DECLINED', message: 'no', nodeId: 'charge' },
    startedAt: at,
    endedAt: null,
    businessKey: null,
    stuckReason: null,
  },
  tasks: [
    {
      taskId: 't',
      nodeId: 'charge',
      item: 0,
      kind: 'forward',
      generation: 1,
      status: 'RUNNING',
      attempt: 2,
      failures: 1,
      losses: 0,
      unknownOutcome: true,
      failure: null,
      leaseOwner: 'w',
      createdAt: at,
      settledAt: at,
      input: '{"n":12345678901234567890}',
      output: null,
    },
  ],
  bufferedSignals: [{ signalId: 's', name: 'approved', receivedAt: at }],
  input: '[ ]',
};

describe('a run on the wire', () => {
  it('keeps payload text, tells null from absent, and writes times in UTC', () => {
    const bytes = runV1.GetRunResponse.encode(runDetailsToProto(details)).finish();
    const message = runV1.GetRunResponse.decode(bytes);
    expect(message.run).toMatchObject({
      status: runV1.RunStatus.RUN_STATUS_COMPENSATION_FAILED,
      failure: { code: 'DECLINED', nodeId: 'charge' },
      startedAt: '2026-11-30T12:00:00.123Z',
      endedAt: '',
    });
    expect(message.tasks[0]).toMatchObject({
      status: runV1.TaskStatus.TASK_STATUS_RUNNING,
      input: '{"n":12345678901234567890}',
      unknownOutcome: true,
    });
    expect(message.tasks[0]?.failure).toBeUndefined();
    expect(message.input).toBe('[ ]');
    expect(message.output).toBeUndefined();
    expect(message.bufferedSignals).toEqual([{ signalId: 's', name: 'approved', receivedAt: at.toISOString() }]);
  });

  it('has a journal whose empty fields are empty', () => {
    const entry = { seq: 2 ** 40, epoch: 1, kind: 'run.started', at };
    const empty = { nodeId: null, taskId: null, taskKind: null, attempt: null, code: null, detail: null };
    expect(journalToProto({ ...entry, ...empty })).toMatchObject({ seq: 2n ** 40n, nodeId: '', attempt: 0 });
  });
});
