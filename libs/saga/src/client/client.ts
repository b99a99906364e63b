import type { Saga } from '../definition/saga.js';
import type { Outputs } from '../definition/types.js';
import type { SagaEvent } from '../journal/ports.js';
import type * as types from './types.js';

/**
 * Starts, reads and steers sagas. The same in both modes, and without a runtime in the process. A class only so that
 * dependency injection has a token for it.
 *
 * What is refused rejects with a `SagaError`: `invalid` with all mistakes of the call in `details`, `not-found`
 * (RUN_NOT_FOUND, SAGA_NOT_FOUND), `conflict` (the state of the run, or a key, stands against it) or `unavailable` (try
 * again).
 */
export abstract class SagaClient {
  /** Starts a saga with its input, typed by the saga. Resolves when the start is durable, or part of `tx`. */
  abstract start<I, O>(
    saga: Saga<I, O>,
    input: NoInfer<I>,
    options?: types.StartOptions,
  ): Promise<types.StartedSaga<O>>;
  /** The same by id; the saga need not be one of this process's. */
  abstract start(sagaId: string, input?: unknown, options?: types.StartOptions): Promise<types.StartedSaga>;

  abstract get<O = Outputs>(runId: string, options?: types.GetOptions): Promise<types.SagaDetails<O>>;

  /** A page of runs, newest first. */
  abstract list(query?: types.ListSagas): Promise<types.SagaPage>;

  /** For the step that waits for `name`, now or later. The payload is that step's output. */
  abstract signal(
    runId: string,
    name: string,
    payload?: unknown,
    options?: types.SignalOptions,
  ): Promise<types.SignalAnswer>;

  /** What was done is undone; then the run ends `cancelled`. */
  abstract cancel(runId: string, options?: types.CancelOptions): Promise<types.CommandAnswer>;

  /** Runs what failed again, with a new epoch. For runs that ended badly and undid nothing that is still needed. */
  abstract retry(runId: string, options?: types.RetryOptions): Promise<types.CommandAnswer>;

  /** Runs the undos that failed again. For runs that ended `compensation_failed`. */
  abstract retryCompensation(runId: string, options?: types.CommandOptions): Promise<types.CommandAnswer>;

  /** Resolves when the run has ended, however it ended. */
  abstract result<O = Outputs>(runId: string, options?: types.ResultOptions): Promise<types.SagaResult<O>>;

  /** The journal of a run, oldest first, page by page. */
  abstract history(runId: string, options?: types.HistoryOptions): Promise<readonly SagaEvent[]>;

  /** After the commit of a transaction in which something was started: the runtime of this process looks at once. */
  abstract kick(): void;

  /** Ends what the client opened for itself. One that belongs to a runtime ends with that. */
  abstract close(): Promise<void>;
}
