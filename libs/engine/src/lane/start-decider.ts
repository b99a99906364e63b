import type { Dag, Decision, Needs, Loaded, Route, RunState } from '@baton/core';
import { newRun } from '@baton/core';
import { EngineError, type LeasedTask, type RunStartedResult, type StartRun } from '../api.js';
import { isMiss } from '../caches/definition-cache.js';
import { RunFold } from '../fold/run-fold.js';
import type { JsonSchemaValidator } from '../options.js';
import type { RunStartWrite, StartResult } from '../ports.js';
import type { PassDeps } from './event-pass.js';
import { inputError, refusalError } from './refusals.js';
import { existingAnswer } from './start-answers.js';
import { unavailable } from './store-failures.js';

export interface StartDeciderDeps extends Pick<
  PassDeps,
  'decide' | 'definitions' | 'deployedVersion' | 'newId' | 'random' | 'fold' | 'failures'
> {
  readonly route: Route;
  readonly schemas: JsonSchemaValidator;
}

/** A start on its way: checked by the use case, not decided yet. */
export interface StartWork {
  readonly command: StartRun;
  readonly runId: string;
  readonly isClientRunId: boolean;
  /** Empty where nothing can be compared with it. */
  readonly requestHash: string;
  readonly size: number;
  settle(result: RunStartedResult | EngineError): void;
  dataErrors: number;
}

/** A start whose run is decided. */
export interface DecidedStart {
  readonly work: StartWork;
  readonly fold: RunFold;
  readonly decision: Extract<Decision, { kind: 'applied' }>;
  readonly write: RunStartWrite;
  readonly leased: readonly LeasedTask[];
}

/** Decides new runs. Writes nothing. */
export class StartDecider {
  constructor(private readonly deps: StartDeciderDeps) {}

  /**
   * Decided here, written and committed by the caller, with what is theirs. Nothing is remembered and no hook is told: nobody
   * hears here whether that transaction commits.
   */
  async with(work: StartWork, write: (start: RunStartWrite) => Promise<StartResult>): Promise<void> {
    let decided: readonly DecidedStart[];
    try {
      decided = await this.decideAll([work], (_work, error) => work.settle(error));
    } catch (error) {
      this.deps.failures.tell(error);
      return work.settle(unavailable(error));
    }
    for (const start of decided) {
      const result = await write(start.write);
      const existing = result.existing.get(work.runId);
      const { status } = start.decision.state;
      if (result.created.has(work.runId)) work.settle({ runId: work.runId, created: true, status });
      else if (existing !== undefined) work.settle(existingAnswer(work, existing));
      else work.settle(unavailable(new Error('the write answered neither created nor existing')));
    }
  }

  async decideAll(
    works: readonly StartWork[],
    settle: (work: StartWork, error: EngineError) => void,
  ): Promise<DecidedStart[]> {
    const dags = await this.loadDags(works);
    const decided: DecidedStart[] = [];
    for (const work of works) {
      const dag = dags.get(work);
      const start =
        dag === undefined || dag instanceof EngineError ? (dag ?? noDefinition(work)) : this.decide(work, dag);
      if (start instanceof EngineError) settle(work, start);
      else decided.push(start);
    }
    return decided;
  }

  /** One look-up for each definition of the batch: issued after the callers came, so a deploy they saw is seen. */
  private async loadDags(works: readonly StartWork[]): Promise<Map<StartWork, Dag | EngineError>> {
    const deployed = new Map<string, Promise<number | undefined>>();
    const dags = new Map<StartWork, Dag | EngineError>();
    await Promise.all(
      works.map(async (work) => {
        const { namespace, definitionId } = work.command;
        let version = work.command.definitionVersion;
        if (version === undefined) {
          const key = `${namespace}/${definitionId}`;
          const lookUp = deployed.get(key) ?? this.deps.deployedVersion(namespace, definitionId);
          deployed.set(key, lookUp);
          version = await lookUp;
        }
        if (version === undefined) return;
        const ready = this.deps.definitions.peek(namespace, definitionId, version);
        const loaded = ready ?? (await this.deps.definitions.load(namespace, definitionId, version));
        dags.set(work, isMiss(loaded) ? new EngineError('not-found', 'DEFINITION_NOT_FOUND', loaded.reason) : loaded);
      }),
    );
    return dags;
  }

  private decide(work: StartWork, dag: Dag): DecidedStart | EngineError {
    const { command, runId } = work;
    const invalid = inputError(this.deps.schemas, dag, command.input);
    if (invalid !== null) return invalid;
    const run = newRun({
      runId,
      namespace: command.namespace,
      definitionId: command.definitionId,
      definitionVersion: dag.version,
      route: this.deps.route,
    });
    const event = { type: 'RunStarted' as const, ...startNode(command) };
    let decision: Decision;
    try {
      decision = this.callDecide(dag, run, event, command.input);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return new EngineError('internal', 'DECISION_FAILED', `the run cannot be started: ${reason}`, { cause: error });
    }
    if (decision.kind === 'refused') return refusalError(decision.refusal);
    if (decision.kind !== 'applied') return new EngineError('internal', 'DECISION_FAILED', 'the start was not decided');
    const fold = new RunFold(run, command.traceparent ?? null, this.deps.fold);
    const { actions, state } = decision;
    const leased = fold.add({
      event,
      actions,
      state,
      leases: undefined,
      repeatsLeases: false,
      wish: command.lease ?? null,
    });
    return { work, fold, decision, write: startWrite(work, fold, this.deps.route), leased };
  }

  /** A run that is being made has nothing stored but its input: every other answer is "there is none". */
  private callDecide(
    dag: Dag,
    run: RunState,
    event: { readonly type: 'RunStarted'; readonly startNodeId?: string },
    input: string | null,
  ): Decision {
    const { newId, random } = this.deps;
    const nothing: Loaded = {
      runInput: input,
      payloads: new Map(),
      leases: new Map(),
      knownSignals: new Map(),
      timers: new Map(),
    };
    let signals = new Map<string, readonly never[]>();
    for (let round = 0; round < 5; round += 1) {
      const decision = this.deps.decide(dag, run, event, { newId, random, loaded: { ...nothing, signals } });
      if (decision.kind !== 'needs') return decision;
      signals = noSignals(decision.needs, signals);
    }
    throw new Error('the decision never stops asking');
  }
}

function startWrite(work: StartWork, fold: RunFold, route: Route): RunStartWrite {
  const { command } = work;
  return {
    write: fold.toWrite(),
    definitionId: command.definitionId,
    route,
    input: command.input,
    startedAtMs: command.startedAtMs ?? null,
    traceparent: command.traceparent ?? null,
    requestHash: work.requestHash,
    idempotencyKey: command.idempotencyKey ?? null,
    businessKey: command.businessKey ?? null,
    clientRunId: work.isClientRunId,
  };
}

function startNode(command: StartRun): { readonly startNodeId?: string } {
  return command.startNodeId === undefined ? {} : { startNodeId: command.startNodeId };
}

function noDefinition(work: StartWork): EngineError {
  const { definitionId } = work.command;
  return new EngineError('not-found', 'DEFINITION_NOT_FOUND', `no version of ${definitionId} is deployed`);
}

function noSignals(needs: Needs, before: ReadonlyMap<string, readonly never[]>): Map<string, readonly never[]> {
  const signals = new Map(before);
  for (const name of needs.signals ?? []) signals.set(name, []);
  return signals;
}
