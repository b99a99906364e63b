import type { EngineApi } from '@baton/engine';
import type { SqlExecutor } from '@baton/storage-postgres';
import type { Saga, SagaResolver } from '../definition/saga.js';
import type { Outputs } from '../definition/types.js';
import type { Clock } from '../executor/types.js';
import { translated } from '../journal/engine-errors.js';
import { SagaError } from '../journal/errors.js';
import { statusOfRun } from '../journal/kinds.js';
import type { Enqueued, Enqueuer, NewInstance, SagaEvent } from '../journal/ports.js';
import type { Dispatcher } from '../runtime/dispatcher.js';
import { checkCommand, checkHistory, checkList, checkRunId, checkSignal, checkStart, checkTimeout } from './checks.js';
import { SagaClient } from './client.js';
import type * as types from './types.js';
import { detailsOf, eventOf, resultOf, runStatusesOf, viewOf } from './views.js';

/** What a client may ask of the engine: nothing that the holder of a lease does. */
export type ClientEngine = Pick<
  EngineApi,
  'signal' | 'cancel' | 'retry' | 'retryCompensation' | 'getRun' | 'listRuns' | 'history' | 'awaitOutcome'
>;

export interface StartPort extends Enqueuer {
  /** Within the caller's transaction. */
  enqueueWithin(executor: SqlExecutor, instance: NewInstance): Promise<Enqueued>;
}

export interface EmbeddedClientParts {
  readonly journal: StartPort;
  readonly engine: ClientEngine;
  /** The sagas of this process; there may be none. */
  readonly resolver: SagaResolver;
  readonly namespace: string;
  /** Of sagas that this process does not have. undefined = nobody has published it. */
  deployedVersion(namespace: string, sagaId: string): Promise<number | undefined>;
  /** The runtime of this process; null = there is none. */
  readonly dispatcher: Dispatcher | null;
  readonly clock: Clock;
  /** Fresh UUIDs. */
  readonly newId: () => string;
  close(): Promise<void>;
}

/** Longest single wait for a result: then the run is looked at anew. Milliseconds. */
const LONGEST_WAIT_MS = 60_000;

/** The client over the database of its process. */
export class EmbeddedSagaClient extends SagaClient {
  constructor(private readonly parts: EmbeddedClientParts) {
    super();
  }

  async start<O = Outputs>(
    saga: Saga | string,
    input?: unknown,
    options: types.StartOptions = {},
  ): Promise<types.StartedSaga<O>> {
    const text = checkStart(saga, input, options);
    const { tx, runId, idempotencyKey, businessKey, traceparent } = options;
    const instance: NewInstance = {
      sagaId: typeof saga === 'string' ? saga : saga.id,
      sagaVersion: options.version ?? (await this.versionOf(saga)),
      input: text,
      ...(runId !== undefined && { runId }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(businessKey !== undefined && { businessKey }),
      ...(traceparent !== undefined && { traceparent }),
    };
    const started =
      tx === undefined ? await this.enqueue(instance) : await this.parts.journal.enqueueWithin(tx, instance);
    return { ...started, result: (wish) => this.result<O>(started.runId, wish) };
  }

  async get<O = Outputs>(runId: string, { payloads = false }: types.GetOptions = {}): Promise<types.SagaDetails<O>> {
    const { engine, namespace } = this.parts;
    return detailsOf<O>(await translated(engine.getRun(namespace, checkRunId(runId), payloads)), payloads);
  }

  async list(query: types.ListSagas = {}): Promise<types.SagaPage> {
    checkList(query);
    const { sagaId, version, statuses, businessKey, pageSize = 50, cursor } = query;
    const { engine, namespace } = this.parts;
    const page = engine.listRuns({
      ...{ namespace, pageSize },
      ...(sagaId !== undefined && { definitionId: sagaId }),
      ...(version !== undefined && { definitionVersion: version }),
      ...(statuses !== undefined && { statuses: runStatusesOf(statuses) }),
      ...(businessKey !== undefined && { businessKey }),
      ...(cursor !== undefined && { cursor }),
    });
    const { runs, nextCursor } = await translated(page);
    return { sagas: runs.map((run) => viewOf(run)), nextCursor };
  }

  async signal(
    runId: string,
    name: string,
    payload?: unknown,
    options: types.SignalOptions = {},
  ): Promise<types.SignalAnswer> {
    const checked = checkSignal(name, payload, options);
    const { engine, namespace, newId } = this.parts;
    const call = engine.signal({
      ...{ namespace, name, runId: checkRunId(runId), payload: checked.payload },
      signalId: options.signalId ?? newId(),
      ...(checked.expiresInMs !== undefined && { expiresInMs: checked.expiresInMs }),
    });
    return this.done(call);
  }

  async cancel(runId: string, { requestId, reason = '' }: types.CancelOptions = {}): Promise<types.CommandAnswer> {
    checkCommand(requestId);
    return this.commanded(this.parts.engine.cancel({ ...this.command(runId, requestId), reason }));
  }

  async retry(runId: string, options: types.RetryOptions = {}): Promise<types.CommandAnswer> {
    const { requestId, fromStep, version } = options;
    const input = checkCommand(requestId, options.input);
    const call = this.parts.engine.retry({
      ...this.command(runId, requestId),
      ...(fromStep !== undefined && { fromNodeId: fromStep }),
      ...(version !== undefined && { definitionVersion: version }),
      ...(input !== undefined && { input }),
    });
    return this.commanded(call);
  }

  async retryCompensation(runId: string, { requestId }: types.CommandOptions = {}): Promise<types.CommandAnswer> {
    checkCommand(requestId);
    return this.commanded(this.parts.engine.retryCompensation(this.command(runId, requestId)));
  }

  async result<O = Outputs>(
    runId: string,
    { timeoutMs = Number.POSITIVE_INFINITY, signal }: types.ResultOptions = {},
  ): Promise<types.SagaResult<O>> {
    if (timeoutMs !== Number.POSITIVE_INFINITY) checkTimeout(timeoutMs);
    const { engine, namespace, clock } = this.parts;
    const id = checkRunId(runId);
    const until = clock.now() + timeoutMs;
    for (;;) {
      const leftMs = Math.max(0, until - clock.now());
      const wait = engine.awaitOutcome(namespace, id, Math.min(leftMs, LONGEST_WAIT_MS), signal);
      const result = resultOf<O>(await translated(wait));
      if (result !== undefined) return result;
      if (signal?.aborted === true) {
        const text = `nobody waits for run ${id} any more; it goes on`;
        throw new SagaError('deadline', 'RESULT_ABORTED', text, { cause: signal.reason });
      }
      if (clock.now() >= until) {
        throw new SagaError('deadline', 'RESULT_TIMEOUT', `run ${id} has not ended within ${timeoutMs} ms; it goes on`);
      }
    }
  }

  async history(runId: string, { after = 0, limit = 1_000 }: types.HistoryOptions = {}): Promise<readonly SagaEvent[]> {
    checkHistory(after, limit);
    const { engine, namespace } = this.parts;
    return (await translated(engine.history(namespace, checkRunId(runId), after, limit))).map(eventOf);
  }

  kick(): void {
    this.parts.dispatcher?.kick();
  }

  close(): Promise<void> {
    return this.parts.close();
  }

  /** With a free slot here the first step is taken by the commit that makes the run (W1). */
  private async enqueue(instance: NewInstance): Promise<Enqueued> {
    const slot = this.parts.dispatcher?.reserve() ?? null;
    if (slot === null) {
      const enqueued = await this.parts.journal.enqueue(instance);
      this.kick();
      return enqueued;
    }
    let claimed: Enqueued['claimed'] = [];
    try {
      const enqueued = await this.parts.journal.enqueue(instance, slot.take);
      claimed = enqueued.claimed;
      return enqueued;
    } finally {
      slot.settle(claimed);
      if (this.hasSeveralFirstSteps(instance)) this.kick();
    }
  }

  /** The slot is for one of them. */
  private hasSeveralFirstSteps({ sagaId, sagaVersion }: NewInstance): boolean {
    const saga = this.parts.resolver.resolve(sagaId, sagaVersion);
    return saga !== undefined && [...saga.steps.values()].filter(({ after }) => after.length === 0).length > 1;
  }

  private async versionOf(saga: Saga | string): Promise<number> {
    if (typeof saga !== 'string') return saga.version;
    const { resolver, namespace } = this.parts;
    const version = resolver.resolve(saga)?.version ?? (await this.parts.deployedVersion(namespace, saga));
    if (version !== undefined) return version;
    throw new SagaError('not-found', 'SAGA_NOT_FOUND', `nobody has published a saga ${saga}`);
  }

  private command(runId: string, requestId: string | undefined) {
    const { namespace, newId } = this.parts;
    return { namespace, runId: checkRunId(runId), requestId: requestId ?? newId() };
  }

  private async commanded(
    call: Promise<{ readonly status: Parameters<typeof statusOfRun>[0]; epoch: number; duplicate: boolean }>,
  ): Promise<types.CommandAnswer> {
    const { status, epoch, duplicate } = await this.done(call);
    return { status: statusOfRun(status), epoch, duplicate };
  }

  /** What it made runnable is looked for at once. */
  private async done<T>(call: Promise<T>): Promise<T> {
    const answer = await translated(call);
    this.kick();
    return answer;
  }
}
