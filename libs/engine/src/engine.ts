import type { Dag, ParsedDefinition, ReportOutcome } from '@baton/core';
import { decide, isTerminal, parseDefinition } from '@baton/core';
import type * as api from './api.js';
import { EngineError } from './api.js';
import { DefinitionCache, isMiss, type DefinitionMiss, type LoadedDefinition } from './caches/definition-cache.js';
import { RunCache } from './caches/run-cache.js';
import { defaultEvents, hashOfRun } from './fold/messages.js';
import { EventPass, type PassDeps } from './lane/event-pass.js';
import { Lane } from './lane/lane.js';
import { LeasePass } from './lane/lease-pass.js';
import { StartDecider, type StartWork } from './lane/start-decider.js';
import { StartPass } from './lane/start-pass.js';
import { StartsApart } from './lane/starts-apart.js';
import { StoreFailures, tellSafely, unavailable } from './lane/store-failures.js';
import type { Work } from './lane/work.js';
import { defaultLimits, type EngineHooks, type EngineLimits, type EngineOptions } from './options.js';
import type { RunRef, RunStartWrite, StartResult } from './ports.js';
import { ResultWaiters, type WaitEnd } from './result-waiters.js';
import { checkUuid, invalid } from './use-cases/checks.js';
import {
  cancelWork,
  retryCompensationWork,
  retryWork,
  runNotFound,
  type CommandDeps,
} from './use-cases/command-works.js';
import { dueWork } from './use-cases/due-works.js';
import { checkAcquire, checkClaim, checkClaimable, checkHeartbeat, checkWish } from './use-cases/lease-works.js';
import { ReportWork } from './use-cases/report-work.js';
import { signalWork } from './use-cases/signal-work.js';
import { startWork } from './use-cases/start-work.js';

const largestPage = 1_000;

/** The engine over a store: every input becomes an event, and goes down its run's lane (ADR 0001). */
export function createEngine(options: EngineOptions): api.EngineApi {
  return new Engine(options);
}

class Engine implements api.EngineApi {
  private readonly limits: EngineLimits;
  private readonly cache: RunCache;
  private readonly starts: StartDecider;
  private readonly keyedStarts: Lane | undefined;
  private readonly startsApart = new StartsApart();
  private readonly lanes: readonly Lane[];
  private readonly waiters: ResultWaiters;
  private readonly failures: StoreFailures;
  private readonly hooks: EngineHooks;
  private isClosing = false;

  constructor(private readonly options: EngineOptions) {
    const { store, now, random } = options;
    this.limits = { ...defaultLimits, ...options.limits };
    const hooks = options.hooks ?? {};
    this.failures = new StoreFailures({ store, limits: this.limits, hooks, random, now });
    const onStoreError = (error: unknown): void => void this.failures.tell(error);
    this.waiters = new ResultWaiters({ store, now, pollMs: options.resultPollMs ?? 500, onStoreError });
    this.hooks = {
      ...hooks,
      onRunEnded: (run) => {
        this.waiters.ended(run.runId);
        hooks.onRunEnded?.(run);
      },
    };
    this.cache = new RunCache(this.limits.cachedStateBytes);
    const deps = this.passDeps();
    const { schemas, route = 'kafka' } = options;
    this.starts = new StartDecider({ ...deps, schemas, route });
    this.lanes = Array.from({ length: options.lanes ?? 1 }, () => this.makeLane(deps));
    if (deps.transactions === 'single-statement') this.keyedStarts = this.makeLane(deps, this.startsApart);
  }

  private passDeps(): PassDeps {
    const { store, newId, random, now } = this.options;
    return {
      store,
      cache: this.cache,
      onOutcome: (ref, outcomeOf) => this.waiters.endedWith(ref, outcomeOf),
      failures: this.failures,
      fold: { newId, events: this.options.events ?? defaultEvents },
      hooks: this.hooks,
      limits: this.limits,
      now,
      decide: this.options.decide ?? decide,
      definitions: this.definitions(),
      deployedVersion: (namespace, id) => store.deployedVersion(namespace, id),
      newId,
      random,
      batchRows: this.limits.batchRows,
      transactions: this.options.transactions ?? 'allowed',
    };
  }

  private makeLane(deps: PassDeps, apart?: StartsApart): Lane {
    const { cache, hooks, limits, failures } = this;
    const { store } = deps;
    return new Lane({
      events: new EventPass(deps),
      starts: new StartPass(deps, this.starts, apart),
      leases: new LeasePass({ store, cache, failures, hooks }),
      limits,
    });
  }

  private definitions(): DefinitionCache {
    const { store, templates } = this.options;
    const load = async (namespace: string, id: string, version: number): Promise<LoadedDefinition | DefinitionMiss> => {
      const text = await store.loadDefinition(namespace, id, version);
      if (text === undefined) return { missing: true, reason: `there is no version ${version} of ${id}` };
      const dag = dagOf(text, id, version, templates);
      return isMiss(dag) ? dag : { dag, size: text.length };
    };
    return new DefinitionCache({ load }, this.limits.definitionChars);
  }

  start(command: api.StartRun): Promise<api.RunStartedResult> {
    return this.call((settle) => {
      const lease = command.lease === undefined ? {} : { lease: checkWish(command.lease) };
      const work = this.startWork({ ...command, ...lease }, settle);
      this.laneOfStart(work).pushStart(work);
    });
  }

  startWith(
    { lease: _, ...command }: api.StartRun,
    write: (start: RunStartWrite) => Promise<StartResult>,
  ): Promise<api.RunStartedResult> {
    return new Promise((resolve, reject) => {
      if (this.isClosing) throw shuttingDown();
      const work = this.startWork(command, (answer) =>
        answer instanceof EngineError ? reject(answer) : resolve(answer),
      );
      this.starts.with(work, write).catch(reject);
    });
  }

  private startWork(command: api.StartRun, settle: StartWork['settle']): StartWork {
    const { newId, hash, now } = this.options;
    return startWork(command, { newId, hash, nowMs: now(), settle });
  }

  async report(report: api.TaskReport): Promise<ReportOutcome> {
    return (await this.reportOf(report)).outcome;
  }

  reportAndLease(report: api.TaskReport, wish: api.LeaseWish): Promise<api.ReportAndLeaseResult> {
    return this.reportOf(report, wish);
  }

  private reportOf(report: api.TaskReport, wish?: api.LeaseWish): Promise<api.ReportAndLeaseResult> {
    return this.call<api.ReportAndLeaseResult>((settle) => {
      const tell = (answer: api.ReportAndLeaseResult | EngineError): void => {
        if (!(answer instanceof EngineError)) {
          tellSafely(() => this.hooks.onReport?.({ status: report.status, outcome: answer.outcome }));
        }
        settle(answer);
      };
      const { hash } = this.options;
      const lease = wish === undefined ? {} : { wish: checkWish(wish) };
      this.push(ReportWork.of(report, { hash, settle: tell, ...lease }));
    });
  }

  acquire(call: api.AcquireLease): Promise<api.AcquireAnswer> {
    return this.call((settle) => {
      const checked = checkAcquire(call);
      this.laneOf(checked.runId).pushAcquire({ call: checked, settle });
    });
  }

  heartbeat(call: api.HeartbeatCall): Promise<api.HeartbeatAnswer> {
    return this.call((settle) => {
      const checked = checkHeartbeat(call);
      if (checked === null) settle({ status: 'LOST' });
      else this.laneOf(checked.runId).pushHeartbeat({ call: checked, settle });
    });
  }

  async claim(raw: api.ClaimTasks): Promise<readonly api.LeasedTask[]> {
    const call = checkClaim(raw);
    if (this.isClosing) throw shuttingDown();
    const leased = await this.query(() => this.options.store.claim(call));
    // The first report of each then finds its fence here, where the run is known.
    for (const { runId, taskId, attempt, leaseId } of leased) {
      this.cache.rememberLease(runId, taskId, { attempt, leaseId });
    }
    return leased;
  }

  async claimable(
    namespace: string,
    definitions: readonly api.ClaimableDefinition[],
    limit: number,
  ): Promise<readonly api.ClaimableTask[]> {
    checkClaimable(definitions, limit);
    return this.query(() => this.options.store.claimable(namespace, definitions, limit));
  }

  signal(command: api.SignalRun): Promise<api.SignalResult> {
    return this.call((settle) => this.push(signalWork(command, { hash: this.options.hash, settle })));
  }

  retry(command: api.RetryRun): Promise<api.CommandResult> {
    return this.call((settle) => this.push(retryWork(command, this.commandDeps(settle))));
  }

  retryCompensation(command: api.RetryCompensation): Promise<api.CommandResult> {
    return this.call((settle) => this.push(retryCompensationWork(command, this.commandDeps(settle))));
  }

  cancel(command: api.CancelRun): Promise<api.CommandResult> {
    return this.call((settle) => this.push(cancelWork(command, this.commandDeps(settle))));
  }

  private commandDeps(settle: CommandDeps['settle']): CommandDeps {
    return { hash: this.options.hash, schemas: this.options.schemas, settle };
  }

  fireDue(items: readonly api.DueItem[]): Promise<readonly api.FireResult[]> {
    return this.call((settle) => {
      const results: api.FireResult[] = items.map(() => ({ outcome: 'FAILED' }));
      let open = items.length;
      const answer = (index: number, result: api.FireResult): void => {
        results[index] = result;
        open -= 1;
        if (open === 0) settle(results);
      };
      if (open === 0) settle(results);
      const { store } = this.options;
      const onStoreError = (error: unknown): void => void this.failures.tell(error);
      const deps = { store, timerFailures: this.limits.timerFailures, onStoreError };
      items.forEach((item, index) => {
        try {
          this.push(dueWork(item, deps, (result) => answer(index, result)));
        } catch (error) {
          // One item that cannot be read, or does not fit in the queue, is not the others' fault (R21).
          answer(index, { outcome: 'FAILED', reason: error instanceof EngineError ? error.code : 'INTERNAL' });
        }
      });
    });
  }

  async getRun(namespace: string, runId: string, withPayloads: boolean): Promise<api.RunDetails> {
    const details = await this.readRun(namespace, runId, withPayloads);
    if (details.payloadsLeftOut !== true) return details;
    const message = 'the payloads of this run are too large for one answer: ask for it without them';
    throw new EngineError('too-large', 'RUN_TOO_LARGE', message);
  }

  private async readRun(namespace: string, runId: string, withPayloads: boolean): Promise<api.RunDetails> {
    const id = checkUuid(runId, 'runId');
    const details = await this.query(() => this.options.store.getRun(namespace, id, withPayloads));
    if (details === undefined) throw runNotFound(id);
    return details;
  }

  listRuns(query: api.ListRuns): Promise<api.RunPage> {
    return this.query(() => this.options.store.listRuns(query));
  }

  async history(
    namespace: string,
    runId: string,
    afterSeq: number,
    limit: number,
  ): Promise<readonly api.JournalView[]> {
    const id = checkUuid(runId, 'runId');
    if (!Number.isSafeInteger(afterSeq) || afterSeq < 0)
      throw invalid('NUMBER_INVALID', 'afterSeq must not be negative');
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > largestPage) {
      throw invalid('NUMBER_INVALID', `limit must be from 1 to ${largestPage}`, '/limit');
    }
    const entries = await this.query(() => this.options.store.history(namespace, id, afterSeq, limit));
    if (entries.length === 0 && (await this.status({ namespace, runId: id })) === undefined) throw runNotFound(id);
    return entries;
  }

  async awaitResult(namespace: string, runId: string, waitMs: number, signal?: AbortSignal): Promise<api.RunDetails> {
    const ref = { namespace, runId: checkUuid(runId, 'runId') };
    await this.awaitEnd(ref, waitMs, signal);
    return this.readRun(namespace, ref.runId, true);
  }

  async awaitOutcome(namespace: string, runId: string, waitMs: number, signal?: AbortSignal): Promise<api.RunOutcome> {
    const ref = { namespace, runId: checkUuid(runId, 'runId') };
    const end = await this.awaitEnd(ref, waitMs, signal);
    return typeof end === 'string' ? this.readRun(namespace, ref.runId, true) : end;
  }

  private async awaitEnd(ref: RunRef, waitMs: number, signal?: AbortSignal): Promise<WaitEnd> {
    if (waitMs <= 0 || this.isClosing || signal?.aborted === true) return 'time';
    // Registered before the first look: an end in between is not missed.
    const stop = new AbortController();
    // With a reason of its own: the default is an exception with a stack, made for each wait.
    const stopAll = (): void => stop.abort('over');
    signal?.addEventListener('abort', stopAll, { once: true });
    const ended = this.waiters.wait(ref, waitMs, stop.signal);
    try {
      // A run that goes on here needs no look: if another process has ended it, the poll finds that.
      if (this.cache.isLive(ref.namespace, ref.runId)) return await ended;
      const status = await this.status(ref);
      if (status === undefined) throw runNotFound(ref.runId);
      return isTerminal(status) ? 'ended' : await ended;
    } finally {
      stopAll();
      signal?.removeEventListener('abort', stopAll);
    }
  }

  async close(): Promise<void> {
    this.isClosing = true;
    this.waiters.close();
    await Promise.all([...this.lanes, this.keyedStarts].map((lane) => lane?.whenIdle()));
    await this.startsApart.whenIdle();
  }

  private async status(ref: RunRef): Promise<api.RunView['status'] | undefined> {
    return (await this.query(() => this.options.store.statuses([ref]))).get(ref.runId);
  }

  private push(work: Work): void {
    this.laneOf(work.runId).pushEvent(work);
  }

  /** R30: a key may be held by a transaction of somebody's own, and waiting for it holds up a lane. */
  private laneOfStart({ runId, isClientRunId, command }: StartWork): Lane {
    const hasKey = isClientRunId || command.idempotencyKey !== undefined || command.businessKey !== undefined;
    return (hasKey ? this.keyedStarts : undefined) ?? this.laneOf(runId);
  }

  private laneOf(runId: string): Lane {
    const lane = this.lanes[hashOfRun(runId) % this.lanes.length];
    if (lane === undefined) throw new Error('an engine has at least one lane');
    return lane;
  }

  /** One promise for one call: what the lane answers, as a value or as the error it is. */
  private call<T>(enqueue: (settle: (answer: T | EngineError) => void) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.isClosing) throw shuttingDown();
      enqueue((answer) => (answer instanceof EngineError ? reject(answer) : resolve(answer)));
    });
  }

  private async query<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof EngineError) throw error;
      this.failures.tell(error);
      throw unavailable(error);
    }
  }
}

function shuttingDown(): EngineError {
  return new EngineError('unavailable', 'SHUTTING_DOWN', 'this coordinator is stopping');
}

function dagOf(text: string, id: string, version: number, templates: EngineOptions['templates']): Dag | DefinitionMiss {
  const parsed = parsedOrReason(text, templates);
  if (typeof parsed === 'string')
    return { missing: true, reason: `version ${version} of ${id} cannot be read: ${parsed}` };
  if (parsed.ok) return parsed.dag.version === version ? parsed.dag : { ...parsed.dag, version };
  const first = parsed.issues[0];
  const why = first === undefined ? 'unknown' : `${first.code} at ${first.pointer}`;
  return { missing: true, reason: `version ${version} of ${id} cannot be read: ${why}` };
}

/** A parser that throws is a bug; it must not take a whole batch of starts with it. */
function parsedOrReason(text: string, templates: EngineOptions['templates']): ParsedDefinition | string {
  try {
    return parseDefinition(text, templates);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
