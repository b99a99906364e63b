import { v7 as newRunId } from 'uuid';
import type { SagaError } from '../../journal/errors.js';
import type { SagaStore } from '../../storage/saga-store.js';
import { clientWorld, order, type ClientWorld, type OrderOutputs } from './client-world.js';

const input = { sku: 'lamp' };

export function describeClient(name: string, openStore: () => Promise<SagaStore>, drop: () => Promise<void>): void {
  describe(`a client of sagas over ${name}`, () => {
    let world: ClientWorld;
    beforeEach(async () => {
      world = await clientWorld(openStore);
    });
    afterEach(async () => {
      await world.close();
      await drop();
    });

    const completed = (output: unknown) => ({ kind: 'step_completed', output: JSON.stringify(output) }) as const;
    const undone = () => world.step('reserve', { kind: 'step_compensated' });
    const finish = async (runId: string) => {
      await world.step('reserve', completed({ reservation: 'r1' }));
      await world.client.signal(runId, 'approved', { by: 'ada' });
      await world.step('charge', completed(12));
    };
    const failCharge = async (runId: string) => {
      await world.step('reserve', completed({ reservation: 'r1' }));
      await world.client.signal(runId, 'approved', { by: 'ada' });
      const failure = { code: 'DECLINED', message: 'no money' };
      await world.step('charge', { kind: 'step_failed', failure, retryable: false });
    };

    it('W13: starts a saga with its input, and tells its typed result', async () => {
      const started = await world.client.start(order, input);
      expect(started.created).toBe(true);
      expect(await world.client.get(started.runId)).toMatchObject({
        status: 'pending',
        sagaId: 'order',
        sagaVersion: 2,
      });
      const waiting = started.result({ timeoutMs: 60_000 });
      await finish(started.runId);
      const result = await waiting;
      expect(result).toEqual({
        runId: started.runId,
        status: 'succeeded',
        output: 12,
        outputs: { reserve: { reservation: 'r1' }, approval: { by: 'ada' }, charge: 12 },
        failure: null,
      });
      if (result.status === 'succeeded') result.outputs.reserve.reservation satisfies string;
    });

    it('W13: a saga that failed is a result with its reason and what was done', async () => {
      const { runId } = await world.client.start('order', input);
      await failCharge(runId);
      expect(await world.client.get(runId)).toMatchObject({ status: 'compensating' });
      await undone();
      expect(await world.client.result<OrderOutputs>(runId)).toEqual({
        runId,
        status: 'compensated',
        output: null,
        outputs: { reserve: { reservation: 'r1' }, approval: { by: 'ada' } },
        failure: { code: 'DECLINED', message: 'no money', step: 'charge' },
      });
    });

    it('W13: shows a run with its steps, and its payloads where they are asked for', async () => {
      const { runId } = await world.client.start(order, input, { businessKey: 'A-1' });
      await world.step('reserve', completed({ reservation: 'r1' }));
      const details = await world.client.get(runId, { payloads: true });
      expect(details).toMatchObject({ status: 'running', businessKey: 'A-1', endedAt: null, input, output: null });
      expect(details.outputs).toEqual({ reserve: { reservation: 'r1' } });
      expect(details.steps.map(({ step, status, kind }) => [step, kind, status])).toEqual([
        ['reserve', 'forward', 'succeeded'],
        ['approval', 'forward', 'waiting'],
      ]);
      expect(await world.client.get(runId)).not.toHaveProperty('input');
    });

    it('W13: finds runs by saga, status and business key, page by page', async () => {
      const runs: string[] = [];
      for (const key of ['A-1', 'A-2', 'A-3']) {
        runs.push((await world.client.start(order, input, { businessKey: key })).runId);
      }
      await world.client.cancel(runs[1] ?? '');
      const first = await world.client.list({ sagaId: 'order', pageSize: 2 });
      expect(first.sagas.map(({ runId }) => runId)).toEqual([runs[2], runs[1]]);
      const second = await world.client.list({ sagaId: 'order', pageSize: 2, cursor: first.nextCursor ?? '' });
      expect(second).toMatchObject({ sagas: [{ runId: runs[0], status: 'running' }], nextCursor: null });
      const cancelled = await world.client.list({ statuses: ['cancelled', 'failed'] });
      expect(cancelled.sagas.map(({ runId }) => runId)).toEqual([runs[1]]);
      const named = await world.client.list({ sagaId: 'order', businessKey: 'A-3' });
      expect(named.sagas).toMatchObject([{ runId: runs[2], businessKey: 'A-3' }]);
    });

    it('W13: the same idempotency key answers the same run; with another input it is a conflict', async () => {
      const first = await world.client.start(order, input, { idempotencyKey: 'k' });
      expect(await world.client.start(order, input, { idempotencyKey: 'k' })).toMatchObject({
        runId: first.runId,
        created: false,
      });
      await expect(world.client.start(order, { sku: 'desk' }, { idempotencyKey: 'k' })).rejects.toMatchObject({
        kind: 'conflict',
      });
    });

    it('J1: a second start under one run id is a conflict, and a business key names one open run', async () => {
      const runId = newRunId();
      expect((await world.client.start(order, input, { runId, businessKey: 'A-1' })).runId).toBe(runId);
      await expect(world.client.start(order, input, { runId })).rejects.toMatchObject({ kind: 'conflict' });
      await expect(world.client.start(order, input, { businessKey: 'A-1' })).rejects.toMatchObject({
        kind: 'conflict',
      });
    });

    it('W13: a cancelled saga undoes what it did', async () => {
      const { runId } = await world.client.start(order, input);
      await world.step('reserve', completed({ reservation: 'r1' }));
      const cancel = () => world.client.cancel(runId, { requestId: 'c1', reason: 'changed my mind' });
      expect(await cancel()).toMatchObject({ status: 'compensating', duplicate: false });
      expect(await cancel()).toMatchObject({ status: 'compensating', duplicate: true });
      await undone();
      expect(await world.client.result(runId)).toMatchObject({
        status: 'cancelled',
        failure: { code: 'CANCELLED', message: 'changed my mind' },
      });
      expect(await world.client.cancel(runId)).toMatchObject({ status: 'cancelled', duplicate: true });
    });

    it('W13: the same signal twice counts once; one that nobody waits for yet is kept', async () => {
      const { runId } = await world.client.start(order, input);
      const signal = () => world.client.signal(runId, 'approved', { by: 'ada' }, { signalId: 's1', expiresIn: 'PT1H' });
      expect(await signal()).toEqual({ delivered: false, duplicate: false });
      expect(await signal()).toMatchObject({ duplicate: true });
      expect((await world.client.get(runId)).bufferedSignals).toMatchObject([{ signalId: 's1', name: 'approved' }]);
      await world.step('reserve', completed({ reservation: 'r1' }));
      await world.step('charge', completed(1));
      expect(await world.client.result(runId)).toMatchObject({ outputs: { approval: { by: 'ada' } } });
    });

    it('D-6: retries a run that failed with what it has, and undos that failed', async () => {
      const { runId } = await world.client.start(order, input);
      const failure = { code: 'OUT_OF_STOCK', message: 'none left' };
      await world.step('reserve', { kind: 'step_failed', failure, retryable: false });
      expect(await world.client.result(runId)).toMatchObject({ status: 'failed', failure: { step: 'reserve' } });
      expect(await world.client.retry(runId, { requestId: 'r' })).toMatchObject({ status: 'running', epoch: 2 });
      await failCharge(runId);
      await world.step('reserve', { kind: 'step_compensation_failed', failure, retryable: false });
      expect(await world.client.result(runId)).toMatchObject({ status: 'compensation_failed' });
      expect(await world.client.retryCompensation(runId)).toMatchObject({ status: 'compensating' });
      await undone();
      expect(await world.client.result(runId)).toMatchObject({ status: 'compensated' });
    });

    it('W14: tells the history of a run in the words of the contract, in pages', async () => {
      const { runId } = await world.client.start(order, input);
      await finish(runId);
      const all = await world.client.history(runId);
      const kinds = all.map(({ kind }) => kind).filter((kind) => !kind.includes('.'));
      expect(kinds).toEqual(['step_completed', 'step_completed', 'step_completed', 'saga_succeeded']);
      await expect(world.client.cancel(runId)).rejects.toMatchObject({ kind: 'conflict' });
      const page = await world.client.history(runId, { after: 1, limit: 2 });
      expect(page).toEqual(all.slice(1, 3));
    });

    it('gives a result up after its time, or when nobody wants it any more; the run goes on', async () => {
      const { runId } = await world.client.start(order, input);
      await expect(world.client.result(runId, { timeoutMs: 0 })).rejects.toMatchObject({
        kind: 'deadline',
        code: 'RESULT_TIMEOUT',
      });
      const gone = new AbortController();
      const waiting = world.client.result(runId, { signal: gone.signal });
      gone.abort('the caller went');
      await expect(waiting).rejects.toMatchObject({ code: 'RESULT_ABORTED', cause: 'the caller went' });
      expect(await world.client.get(runId)).toMatchObject({ status: 'pending' });
    });
  });

  describe(`what a client of sagas over ${name} refuses`, () => {
    let world: ClientWorld;
    beforeAll(async () => {
      world = await clientWorld(openStore);
    });
    afterAll(async () => {
      await world.close();
      await drop();
    });

    const refusal = (call: Promise<unknown>): Promise<SagaError> =>
      call.then(
        () => Promise.reject(new Error('nothing was refused')),
        (error: SagaError) => error,
      );

    it('all mistakes of a start at once, each with its place', async () => {
      const options = { runId: 'x', idempotencyKey: '', businessKey: 'a\u0000', traceparent: 'y', tx: {}, versoin: 1 };
      const error = await refusal(world.client.start('No Such', { n: 1n }, options as never));
      expect(error).toMatchObject({ kind: 'invalid', code: 'CALL_INVALID' });
      expect(error.details.map(({ pointer }) => pointer).sort()).toEqual(
        ['/businessKey', '/idempotencyKey', '/input', '/runId', '/saga', '/traceparent', '/tx', '/versoin'].sort(),
      );
    });

    it('an input that does not fit the schema, with each place', async () => {
      const error = await refusal(world.client.start('order', {}));
      expect(error).toMatchObject({ kind: 'invalid', details: [{ pointer: '/sku' }] });
    });

    it('mistakes of signals, lists, histories and waits', async () => {
      const runId = newRunId();
      const calls = [
        [world.client.signal(runId, '', 1n, { expiresIn: -1 }), ['/expiresIn', '/name', '/payload']],
        [
          world.client.list({ pageSize: 0, statuses: ['done' as never], sagaId: 'A' }),
          ['/pageSize', '/sagaId', '/statuses/0'],
        ],
        [world.client.history(runId, { after: -1, limit: 0 }), ['/after', '/limit']],
        [world.client.result(runId, { timeoutMs: -1 }), ['/timeoutMs']],
      ] as const;
      for (const [call, pointers] of calls) {
        const error = await refusal(call);
        expect(error.kind).toBe('invalid');
        expect(error.details.map(({ pointer }) => pointer).sort()).toEqual(pointers);
      }
    });

    it('a saga that nobody has published, and runs that are not there: not found', async () => {
      expect(await refusal(world.client.start('nothing', 1))).toMatchObject({
        kind: 'not-found',
        code: 'SAGA_NOT_FOUND',
      });
      for (const runId of [newRunId(), 'no id']) {
        const calls = [
          () => world.client.get(runId),
          () => world.client.result(runId, { timeoutMs: 10 }),
          () => world.client.history(runId),
          () => world.client.cancel(runId),
          () => world.client.retry(runId),
          () => world.client.retryCompensation(runId),
          () => world.client.signal(runId, 'approved'),
        ];
        for (const call of calls) {
          expect(await refusal(call())).toMatchObject({ kind: 'not-found', code: 'RUN_NOT_FOUND' });
        }
      }
    });
  });
}
