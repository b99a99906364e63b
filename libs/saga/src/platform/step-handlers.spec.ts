import { AttemptAborted, NonRetryableError, RawJson, RetryLater, retryLater, TaskError } from '@baton/execution';
import type { TaskContext } from '@baton/worker';
import { defineSaga } from '../definition/define-saga.js';
import { SagaRegistry } from '../definition/registry.js';
import type { CompensateContext, StepContext } from '../definition/types.js';
import { recordingLogger } from '../testing/steps.js';
import { handlersOf } from './step-handlers.js';

type Step = (context: StepContext) => unknown;
type Undo = (context: CompensateContext) => unknown;

const controller = new AbortController();

function task(fields: Partial<TaskContext> = {}): TaskContext {
  return {
    ...{ runId: 'run-1', taskId: 'task-1', nodeId: 'charge', item: 0, kind: 'forward', generation: 1, attempt: 2 },
    ...{ idempotencyKey: 'run-1/charge/0/forward/1', queue: 'order', handler: 'charge' },
    ...{ definitionId: 'order', definitionVersion: 1, signal: controller.signal },
    inputText: '{"input":{"sku":"lamp"},"outputs":{"reserve":{"id":"r1"}}}',
    input: () => undefined as never,
    lastProgress: () => ({ page: 7 }) as never,
    heartbeat: () => undefined,
    log: recordingLogger(),
    ...fields,
  };
}

function setUp(run: Step, compensate: Undo = () => undefined) {
  const saga = defineSaga({
    id: 'order',
    steps: [
      { name: 'reserve', run: () => null },
      { name: 'charge', run, compensate },
    ],
  });
  const logger = recordingLogger();
  const handlers = handlersOf(new SagaRegistry([saga]), logger);
  const call = async (fields?: Partial<TaskContext>): Promise<unknown> => {
    const given = task(fields);
    try {
      return await handlers[given.handler]?.(given);
    } catch (thrown) {
      return thrown;
    }
  };
  return { call, logger, handlers };
}

describe('steps of a saga as handlers of a worker', () => {
  it('are there by the names that the definition has, undos of those that have one too', () => {
    expect(Object.keys(setUp(() => null).handlers)).toEqual(['reserve', 'charge', 'charge.undo']);
  });

  it('get what they get in the embedded mode, and answer JSON', async () => {
    const seen: object[] = [];
    const { call } = setUp(({ input, outputs, previous, attempt, idempotencyKey, sagaId, lastProgress }) => {
      seen.push({ input, outputs, previous, attempt, idempotencyKey, sagaId, lastProgress });
      return { paid: 12 };
    });
    expect(await call()).toEqual(new RawJson('{"paid":12}'));
    expect(seen).toEqual([
      {
        ...{ input: { sku: 'lamp' }, outputs: { reserve: { id: 'r1' } }, previous: { id: 'r1' }, attempt: 2 },
        ...{ idempotencyKey: 'run-1/charge/0/forward/1', sagaId: 'order', lastProgress: { page: 7 } },
      },
    ]);
  });

  it('an undo gets the input of its step and what that returned; what it returns itself does not matter', async () => {
    const seen: object[] = [];
    const { call } = setUp(
      () => null,
      ({ input, output }) => {
        seen.push({ input, output });
        return 1n;
      },
    );
    const inputText = '{"input":{"input":{"sku":"lamp"},"outputs":{}},"output":{"paid":12}}';
    expect(await call({ handler: 'charge.undo', kind: 'compensate', inputText })).toBeNull();
    expect(seen).toEqual([{ input: { sku: 'lamp' }, output: { paid: 12 } }]);
  });

  it('C21: record of a thrown thing no more than that it was thrown; the log has the rest', async () => {
    const { call, logger } = setUp(() => {
      throw new Error('password=secret');
    });
    const thrown = await call();
    expect(thrown).toMatchObject({ code: 'STEP_FAILED', retryable: true });
    expect((thrown as Error).message).not.toContain('secret');
    expect(logger.lines).toMatchObject([{ level: 'warn', fields: { run_id: 'run-1', code: 'STEP_FAILED' } }]);
    expect((logger.lines[0]?.fields['err'] as Error).message).toBe('password=secret');
  });

  it('C21: keep the message of a TaskError, cut at 256 bytes, and whether it is for good', async () => {
    const permanent = setUp(() => {
      throw new NonRetryableError('DECLINED', 'é'.repeat(200));
    });
    const thrown = (await permanent.call()) as TaskError;
    expect(thrown).toMatchObject({ code: 'DECLINED', retryable: false, message: 'é'.repeat(128) });
    const passing = setUp(() => {
      throw new TaskError('BUSY', 'later');
    });
    expect(await passing.call()).toMatchObject({ code: 'BUSY', retryable: true, message: 'later' });
  });

  it('W8: an output that cannot be kept fails for good', async () => {
    const { call } = setUp(() => ({ n: 1n }));
    expect(await call()).toMatchObject({ code: 'OUTPUT_INVALID', retryable: false });
  });

  it('let the worker have what is no failure: a later try, and what comes of an abort', async () => {
    expect(await setUp(() => retryLater(5)).call()).toEqual(new RetryLater(5));
    const lost = AbortSignal.abort(new AttemptAborted('LEASE_LOST'));
    const own = new Error('aborted');
    const { call, logger } = setUp(({ signal }) => {
      expect(signal.aborted).toBe(true);
      throw own;
    });
    expect(await call({ signal: lost })).toBe(own);
    expect(logger.lines).toEqual([]);
  });

  it('W12: leave a step of a version, or a saga, that this process does not have to others', async () => {
    const { call } = setUp(() => 'never');
    for (const other of [{ definitionVersion: 2 }, { definitionId: 'refund' }, { nodeId: 'ship' }]) {
      expect(await call(other)).toBeInstanceOf(RetryLater);
    }
  });
});
