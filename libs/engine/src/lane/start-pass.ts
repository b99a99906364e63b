import type { Dag, Decision, Needs, Loaded, Route, RunState } from '@baton/core';
import { newRun } from '@baton/core';
import { EngineError, type RunStartedResult, type StartRun } from '../api.js';
import { isMiss } from '../caches/definition-cache.js';
import { RunFold } from '../fold/run-fold.js';
import type { JsonSchemaValidator } from '../options.js';
import { StoreError, type ExistingStart, type RunStartWrite, type StartResult } from '../ports.js';
import type { PassDeps } from './event-pass.js';
import { inputError, refusalError } from './refusals.js';
import { rememberRun, runFacts, tellActions } from './settle.js';
import { isDuplicateRow, isLockTimeout, tellSafely, unavailable } from './store-failures.js';

export interface StartDeps extends PassDeps {
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

/** A start whose run is decided; `followers` asked for the same thing in the same batch. */
interface DecidedStart {
  readonly work: StartWork;
  readonly fold: RunFold;
  readonly decision: Extract<Decision, { kind: 'applied' }>;
  readonly write: RunStartWrite;
}

/**
 * Starts go apart from events (R24): keys before runs, and a wait for somebody's key holds up nothing else's lock.
 * One transaction for the batch; a run never exists without its first tasks (I2).
 */
export class StartPass {
  constructor(private readonly deps: StartDeps) {}

  /** Answers what must be tried again in the next batch. */
  async run(works: readonly StartWork[]): Promise<readonly StartWork[]> {
    const { leaders, followers } = claimKeys(works);
    const answers = new Map<StartWork, RunStartedResult | EngineError>();
    const settle = (work: StartWork, answer: RunStartedResult | EngineError): void => {
      answers.set(work, answer);
      work.settle(answer);
    };
    await this.guarded(leaders, settle);
    return followers
      .filter(({ work, leader, claim }) => {
        const answer = answerOf(work, claim, answers.get(leader), leader);
        if (answer !== null) work.settle(answer);
        return answer === null;
      })
      .map(({ work }) => work);
  }

  private async guarded(works: readonly StartWork[], settle: Settle): Promise<void> {
    let decided: readonly DecidedStart[];
    try {
      decided = await this.decideAll(works, settle);
    } catch (error) {
      this.deps.failures.tell(error);
      for (const work of works) settle(work, unavailable(error));
      return;
    }
    await this.writeAll(decided, { batchId: this.deps.newId(), isUnsure: false, settle });
  }

  private async writeAll(decided: readonly DecidedStart[], attempt: Attempt): Promise<void> {
    const { batchId, settle } = attempt;
    const started = this.deps.now();
    let rest = decided;
    for (let repeats = 0; rest.length > 0; repeats += 1) {
      try {
        const result = await this.deps.store.writeStarts({ batchId, starts: rest.map((start) => start.write) });
        this.settleAll(await this.withoutLate(rest, result, attempt), result, settle);
        this.tellCommit(result.created.size, started);
        return;
      } catch (error) {
        const kind = this.deps.failures.tell(error);
        const isLate = attempt.isUnsure && isDuplicateRow(error);
        if (kind === 'unknown-commit' || isLate) {
          attempt.isUnsure = true;
          const durable = await this.settleDurable(batchId, rest, settle);
          this.tellCommit(durable.size, started);
          rest = rest.filter((start) => !durable.has(start.work.runId));
          if (isLate && durable.size === 0) return this.bisect(rest, error, attempt);
          if (!this.deps.failures.mayRepeat(repeats)) return failAll(rest, unavailable(error), settle);
          continue;
        }
        if (isLockTimeout(error)) return this.leaveLocked(rest, error, attempt);
        if (kind === 'transient' && this.deps.failures.mayRepeat(repeats)) {
          await this.deps.failures.pause(repeats);
          continue;
        }
        if (kind === 'data') return this.bisect(rest, error, attempt);
        return failAll(rest, unavailable(error), settle);
      }
    }
  }

  /**
   * R6: a lost write may arrive after it was looked for, when its server was held up. What stands in the way of the
   * second try is then the first: its caller hears that the run was created, as it was.
   */
  private async withoutLate(
    starts: readonly DecidedStart[],
    result: StartResult,
    { batchId, isUnsure, settle }: Attempt,
  ): Promise<readonly DecidedStart[]> {
    const own = isUnsure ? starts.filter(({ work }) => result.existing.get(work.runId)?.runId === work.runId) : [];
    if (own.length === 0) return starts;
    const durable = await this.settleDurable(batchId, own, settle);
    return starts.filter((start) => !durable.has(start.work.runId));
  }

  /** R6: what is durable is answered before anything else is tried, so that no failure of the others can lose it. */
  private async settleDurable(
    batchId: string,
    starts: readonly DecidedStart[],
    settle: Settle,
  ): Promise<ReadonlySet<string>> {
    try {
      const refs = starts.map(({ write }) => write.write);
      const created = new Set(await this.deps.failures.committed(batchId, refs));
      for (const runId of await this.movedOn(starts, created)) created.add(runId);
      const durable = starts.filter((start) => created.has(start.work.runId));
      this.settleAll(durable, { created, existing: new Map() }, settle);
      return created;
    } catch (cause) {
      failAll(starts, unavailable(cause), settle);
      return new Set(starts.map((start) => start.work.runId));
    }
  }

  /** A run that exists under an id that only this start has was made by it, and has been written on since. */
  private async movedOn(starts: readonly DecidedStart[], created: ReadonlySet<string>): Promise<Iterable<string>> {
    const unseen = starts.filter(({ work }) => !created.has(work.runId) && !work.isClientRunId);
    if (unseen.length === 0) return [];
    return (await this.deps.store.statuses(unseen.map(({ write }) => write.write))).keys();
  }

  /** R7: somebody holds one of the keys for long. The others do not wait for it. */
  private async leaveLocked(starts: readonly DecidedStart[], error: unknown, attempt: Attempt): Promise<void> {
    if (starts.length === 1) return failAll(starts, unavailable(error), attempt.settle);
    const middle = Math.ceil(starts.length / 2);
    await this.writeAll(starts.slice(0, middle), attempt);
    await this.writeAll(starts.slice(middle), attempt);
  }

  /** R5, R8: the start that cannot be stored is found by halves and refused. */
  private async bisect(starts: readonly DecidedStart[], error: unknown, attempt: Attempt): Promise<void> {
    const [only] = starts;
    if (starts.length > 1) {
      const middle = Math.ceil(starts.length / 2);
      await this.writeAll(starts.slice(0, middle), attempt);
      await this.writeAll(starts.slice(middle), attempt);
    } else if (only !== undefined) {
      only.work.dataErrors += 1;
      if (only.work.dataErrors < 2) return this.writeAll(starts, attempt);
      const reason = error instanceof StoreError ? error.message : String(error);
      attempt.settle(only.work, new EngineError('invalid', 'CONTENT_REJECTED', `this cannot be stored: ${reason}`));
    }
  }

  private settleAll(decided: readonly DecidedStart[], result: StartResult, settle: Settle): void {
    const { cache, hooks } = this.deps;
    for (const { work, fold, decision } of decided) {
      const existing = result.existing.get(work.runId);
      if (result.created.has(work.runId)) {
        const traceparent = work.command.traceparent ?? null;
        fold.input ??= work.command.input ?? undefined;
        rememberRun(fold, 1, { traceparent }, cache);
        tellSafely(() => hooks.onStarted?.(runFacts(decision.state)));
        tellActions(decision.state, decision.actions, hooks);
        settle(work, { runId: work.runId, created: true, status: decision.state.status });
      } else if (existing !== undefined) {
        settle(work, existingAnswer(work, existing));
      } else {
        settle(work, unavailable(new Error('the store answered neither created nor existing')));
      }
    }
  }

  private async decideAll(works: readonly StartWork[], settle: Settle): Promise<DecidedStart[]> {
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
    fold.add({ event, actions: decision.actions, state: decision.state, leases: undefined });
    return { work, fold, decision, write: startWrite(work, fold, this.deps.route) };
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

  private tellCommit(runs: number, started: number): void {
    const durationMs = this.deps.now() - started;
    if (runs > 0)
      tellSafely(() => this.deps.hooks.onCommit?.({ way: 'start', events: runs, runs, missed: 0, durationMs }));
  }
}

/** The writing of one batch of starts, in as many parts as it takes. */
interface Attempt {
  /** One for all of its statements: what is looked for after a lost answer (R6). */
  readonly batchId: string;
  /** A statement of it may still arrive. */
  isUnsure: boolean;
  readonly settle: Settle;
}

type Settle = (work: StartWork, answer: RunStartedResult | EngineError) => void;

type Claim = 'run-id' | 'idempotency-key' | 'business-key';

interface Follower {
  readonly work: StartWork;
  readonly leader: StartWork;
  readonly claim: Claim;
}

/** Of starts that would meet on a key or a run id, only the first goes to the database (I11). */
function claimKeys(works: readonly StartWork[]): { leaders: StartWork[]; followers: Follower[] } {
  const holders = new Map<string, StartWork>();
  const leaders: StartWork[] = [];
  const followers: Follower[] = [];
  for (const work of works) {
    const claims = claimsOf(work);
    const taken = claims.find(({ key }) => holders.has(key));
    const leader = taken === undefined ? undefined : holders.get(taken.key);
    if (taken !== undefined && leader !== undefined) {
      followers.push({ work, leader, claim: taken.claim });
      continue;
    }
    for (const { key } of claims) holders.set(key, work);
    leaders.push(work);
  }
  return { leaders, followers };
}

function claimsOf(work: StartWork): { readonly claim: Claim; readonly key: string }[] {
  const { namespace, idempotencyKey, businessKey, definitionId } = work.command;
  const claims: { readonly claim: Claim; readonly key: string }[] = [];
  if (idempotencyKey !== undefined) claims.push({ claim: 'idempotency-key', key: `i ${namespace} ${idempotencyKey}` });
  if (work.isClientRunId) claims.push({ claim: 'run-id', key: `r ${work.runId}` });
  if (businessKey !== undefined) {
    claims.push({ claim: 'business-key', key: `b ${namespace} ${definitionId} ${businessKey}` });
  }
  return claims;
}

/** What the leader's answer means for one that asked for the same key. null = ask the database. */
function answerOf(
  work: StartWork,
  claim: Claim,
  answer: RunStartedResult | EngineError | undefined,
  leader: StartWork,
): RunStartedResult | EngineError | null {
  if (answer === undefined) return null;
  if (answer instanceof EngineError) {
    const isSame =
      claim === 'business-key' ? answer.code === 'BUSINESS_KEY_IN_USE' : work.requestHash === leader.requestHash;
    return isSame || answer.kind === 'unavailable' ? answer : null;
  }
  if (claim === 'business-key') return null;
  if (work.command.namespace !== leader.command.namespace) return null;
  const { runId, status } = answer;
  return existingAnswer(work, { reason: claim, runId, requestHash: leader.requestHash, status });
}

function existingAnswer(work: StartWork, existing: ExistingStart): RunStartedResult | EngineError {
  const { reason, runId, status, requestHash } = existing;
  if (reason === 'business-key') {
    const message = `the business key is in use by run ${runId}`;
    return new EngineError('conflict', 'BUSINESS_KEY_IN_USE', message);
  }
  if (requestHash === work.requestHash) return { runId, created: false, status };
  return reason === 'run-id'
    ? new EngineError('conflict', 'RUN_ID_IN_USE', 'this run id belongs to another start')
    : new EngineError('conflict', 'IDEMPOTENCY_MISMATCH', 'this idempotency key was used for another request');
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

function failAll(starts: readonly DecidedStart[], error: EngineError, settle: Settle): void {
  for (const { work } of starts) settle(work, error);
}
