import type { JsonText, RunStatus } from '@baton/core';
import type * as engine from '@baton/engine';
import type { ClientEngine, StartPort } from '../client/embedded-client.js';
import { SagaError } from '../journal/errors.js';
import type { Enqueued, NewInstance } from '../journal/ports.js';
import { jsonBody, segment, type GatewayApi } from './gateway-api.js';

/** An instant is text in the API. */
type Sent<T> = {
  readonly [F in keyof T]: T[F] extends Date ? string : T[F] extends Date | null ? string | null : T[F];
};

interface SentTask extends Omit<Sent<engine.TaskView>, 'input' | 'output' | 'failure'> {
  readonly failure: SentFailure | null;
  readonly input?: unknown;
  readonly output?: unknown;
}

interface SentFailure {
  readonly code: string;
  readonly message: string;
  readonly nodeId: string | null;
}

type SentRun = Omit<Sent<engine.RunView>, 'failure'> & { readonly failure: SentFailure | null };

interface SentDetails {
  readonly run: SentRun;
  readonly tasks: readonly SentTask[];
  readonly bufferedSignals: readonly {
    readonly signalId: string;
    readonly name: string;
    readonly receivedAt: string;
  }[];
  readonly input?: unknown;
  readonly output?: unknown;
}

interface SentCommand {
  readonly status: RunStatus;
  readonly duplicate: boolean;
}

/** More than the wait, for the way there and back. Milliseconds. */
const WAY_MS = 10_000;

/**
 * The engine of the platform as a client asks it: the same calls, through the gateway. The namespace is that of the API
 * key.
 */
export class GatewayEngine implements ClientEngine, StartPort {
  constructor(private readonly api: GatewayApi) {}

  async enqueue(instance: NewInstance): Promise<Enqueued> {
    const { sagaId, sagaVersion, input, traceparent, ...keys } = instance;
    const { runId, created } = await this.api.call<{ readonly runId: string; readonly created: boolean }>({
      method: 'POST',
      path: '/v1/runs',
      body: jsonBody({ definitionId: sagaId, definitionVersion: sagaVersion, ...keys }, { input }),
      ...(traceparent !== undefined && { headers: { traceparent } }),
    });
    if (!created && instance.idempotencyKey === undefined) {
      throw new SagaError('conflict', 'DUPLICATE_INSTANCE', `there is a run ${runId} already`);
    }
    return { runId, created, claimed: [] };
  }

  enqueueWithin(): Promise<Enqueued> {
    const message =
      'the platform is not part of a transaction of yours: start with an idempotency key after the commit';
    const details = [{ pointer: '/tx', code: 'TRANSACTIONS_UNSUPPORTED', message }];
    return Promise.reject(new SagaError('invalid', 'TRANSACTIONS_UNSUPPORTED', message, { details }));
  }

  async getRun(_namespace: string, runId: string, payloads: boolean): Promise<engine.RunDetails> {
    return detailsOf(await this.api.call<SentDetails>({ method: 'GET', path: runPath(runId), query: { payloads } }));
  }

  async listRuns({ statuses, namespace: _, ...query }: engine.ListRuns): Promise<engine.RunPage> {
    const call = { method: 'GET', path: '/v1/runs', query: { ...query, status: statuses } } as const;
    const page = await this.api.call<{ readonly runs: readonly SentRun[]; readonly nextCursor?: string }>(call);
    return { runs: page.runs.map(runOf), nextCursor: page.nextCursor ?? null };
  }

  async history(
    _namespace: string,
    runId: string,
    afterSeq: number,
    limit: number,
  ): Promise<readonly engine.JournalView[]> {
    const query = { afterSeq, pageSize: limit };
    const { entries } = await this.api.call<{ readonly entries: readonly Sent<engine.JournalView>[] }>({
      method: 'GET',
      path: `${runPath(runId)}/history`,
      query,
    });
    return entries.map((entry) => ({ ...entry, at: new Date(entry.at) }));
  }

  async awaitOutcome(
    namespace: string,
    runId: string,
    waitMs: number,
    signal?: AbortSignal,
  ): Promise<engine.RunOutcome> {
    const wait = this.api.call<{ readonly run: SentRun; readonly finished: boolean }>({
      method: 'GET',
      path: `${runPath(runId)}/result`,
      query: { waitMs: Math.round(waitMs) },
      timeoutMs: Math.round(waitMs) + WAY_MS,
      ...(signal !== undefined && { signal }),
    });
    const result = await wait.catch((error: unknown) => {
      if (signal?.aborted === true) return null;
      throw error;
    });
    if (result !== null && !result.finished) return { run: runOf(result.run), tasks: [] };
    return this.getRun(namespace, runId, true);
  }

  async signal({ runId, name, payload, signalId, expiresInMs }: engine.SignalRun): Promise<engine.SignalResult> {
    return this.api.call<engine.SignalResult>({
      method: 'POST',
      path: `${runPath(runId)}/signals/${segment(name)}`,
      body: jsonBody({ signalId, expiresInMs }, { payload }),
    });
  }

  async cancel({ runId, requestId, reason }: engine.CancelRun): Promise<engine.CommandResult> {
    const answer = await this.command<SentCommand>(runId, 'cancel', jsonBody({ requestId, reason }));
    const { run } = await this.api.call<{ readonly run: SentRun }>({ method: 'GET', path: runPath(runId) });
    return { ...answer, epoch: run.epoch };
  }

  async retry(command: engine.RetryRun): Promise<engine.CommandResult> {
    const { runId, requestId, fromNodeId, definitionVersion, input } = command;
    return this.command(runId, 'retry', jsonBody({ requestId, fromNodeId, definitionVersion }, { input }));
  }

  async retryCompensation({ runId, requestId }: engine.RetryCompensation): Promise<engine.CommandResult> {
    return this.command(runId, 'retry-compensation', jsonBody({ requestId }));
  }

  private command<T = engine.CommandResult>(runId: string, what: string, body: string): Promise<T> {
    return this.api.call<T>({ method: 'POST', path: `${runPath(runId)}/${what}`, body });
  }
}

function runPath(runId: string): string {
  return `/v1/runs/${segment(runId)}`;
}

function runOf(run: SentRun): engine.RunView {
  return {
    ...run,
    failure: failureOf(run.failure),
    startedAt: new Date(run.startedAt),
    endedAt: instantOf(run.endedAt),
  };
}

function detailsOf({ run, tasks, bufferedSignals, input, output }: SentDetails): engine.RunDetails {
  return {
    run: runOf(run),
    tasks: tasks.map(({ input: given, output: made, ...task }) => ({
      ...task,
      failure: failureOf(task.failure),
      createdAt: new Date(task.createdAt),
      settledAt: instantOf(task.settledAt),
      input: textOf(given),
      output: textOf(made),
    })),
    bufferedSignals: bufferedSignals.map((signal) => ({ ...signal, receivedAt: new Date(signal.receivedAt) })),
    input: textOf(input),
    output: textOf(output),
  };
}

function failureOf(failure: SentFailure | null): engine.RunView['failure'] {
  if (failure === null) return null;
  const { nodeId, ...rest } = failure;
  return nodeId === null ? rest : { ...rest, nodeId };
}

function instantOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}

function textOf(value: unknown): JsonText | null {
  return value === undefined ? null : JSON.stringify(value);
}
