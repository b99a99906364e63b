import { EngineError, type RunStartedResult } from '../api.js';
import { StoreError, type StartResult } from '../ports.js';
import type { PassDeps } from './event-pass.js';
import { rememberRun, runFacts, tellActions } from './settle.js';
import { answerOf, claimKeys, existingAnswer, leasedOf } from './start-answers.js';
import type { DecidedStart, StartDecider, StartWork } from './start-decider.js';
import type { StartsApart } from './starts-apart.js';
import { isDuplicateRow, isLockTimeout, tellSafely, unavailable } from './store-failures.js';

export type StartDeps = Pick<PassDeps, 'store' | 'cache' | 'failures' | 'hooks' | 'now' | 'newId'>;

/**
 * Starts go apart from events (R24): keys before runs, and a wait for somebody's key holds up nothing else's lock.
 * One transaction for the batch; a run never exists without its first tasks (I2).
 */
export class StartPass {
  constructor(
    private readonly deps: StartDeps,
    private readonly decider: StartDecider,
    /** R30: where a start waits for a key that somebody holds. Without: here, with its batch. */
    private readonly apart?: StartsApart,
  ) {}

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
      decided = await this.decider.decideAll(works, settle);
    } catch (error) {
      this.deps.failures.tell(error);
      for (const work of works) settle(work, unavailable(error));
      return;
    }
    const isImpatient = this.apart !== undefined;
    await this.writeAll(decided, { batchId: this.deps.newId(), isUnsure: false, isImpatient, settle });
  }

  private async writeAll(decided: readonly DecidedStart[], attempt: Attempt): Promise<void> {
    const { batchId, settle, isImpatient } = attempt;
    const started = this.deps.now();
    let rest = decided;
    for (let repeats = 0; rest.length > 0; repeats += 1) {
      try {
        const starts = rest.map((start) => start.write);
        const result = await this.deps.store.writeStarts({ batchId, starts, ...(this.apart && { isImpatient }) });
        this.settleAll(await this.withoutLate(rest, result, attempt), result, attempt);
        this.tellCommit(result.created.size, started);
        return;
      } catch (error) {
        const kind = this.deps.failures.tell(error);
        const isLate = attempt.isUnsure && isDuplicateRow(error);
        if (kind === 'unknown-commit' || isLate) {
          attempt.isUnsure = true;
          const durable = await this.settleDurable(rest, attempt);
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
    attempt: Attempt,
  ): Promise<readonly DecidedStart[]> {
    const own = attempt.isUnsure
      ? starts.filter(({ work }) => result.existing.get(work.runId)?.runId === work.runId)
      : [];
    if (own.length === 0) return starts;
    const durable = await this.settleDurable(own, attempt);
    return starts.filter((start) => !durable.has(start.work.runId));
  }

  /** R6: what is durable is answered before anything else is tried, so that no failure of the others can lose it. */
  private async settleDurable(starts: readonly DecidedStart[], attempt: Attempt): Promise<ReadonlySet<string>> {
    const { batchId, settle } = attempt;
    try {
      const refs = starts.map(({ write }) => write.write);
      const created = new Set(await this.deps.failures.committed(batchId, refs));
      for (const runId of await this.movedOn(starts, created)) created.add(runId);
      const durable = starts.filter((start) => created.has(start.work.runId));
      this.settleAll(durable, { created, existing: new Map() }, attempt);
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
    if (starts.length === 1 && attempt.isImpatient) return this.leaveApart(starts, attempt);
    if (starts.length === 1) return failAll(starts, unavailable(error), attempt.settle);
    const middle = Math.ceil(starts.length / 2);
    await this.writeAll(starts.slice(0, middle), attempt);
    await this.writeAll(starts.slice(middle), attempt);
  }

  /** R30: nothing waits with it. */
  private leaveApart(starts: readonly DecidedStart[], attempt: Attempt): void {
    this.apart?.push(() =>
      this.writeAll(starts, { ...attempt, isImpatient: false }).catch((error: unknown) =>
        failAll(starts, unavailable(error), attempt.settle),
      ),
    );
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

  private settleAll(decided: readonly DecidedStart[], result: StartResult, attempt: Attempt): void {
    const { cache, hooks } = this.deps;
    const { settle } = attempt;
    for (const start of decided) {
      const { work, fold, decision, leased } = start;
      const existing = result.existing.get(work.runId);
      if (result.created.has(work.runId)) {
        const traceparent = work.command.traceparent ?? null;
        fold.input ??= work.command.input ?? undefined;
        rememberRun(fold, 1, { traceparent }, cache);
        tellSafely(() => hooks.onStarted?.(runFacts(decision.state)));
        tellActions(decision.state, decision.actions, hooks);
        settle(work, { runId: work.runId, created: true, status: decision.state.status, ...leasedOf(work, leased) });
      } else if (existing !== undefined) {
        settle(work, existingAnswer(work, existing));
      } else if (attempt.isImpatient) {
        // Others of its batch are durable, and its key was held.
        this.leaveApart([start], attempt);
      } else {
        settle(work, unavailable(new Error('the store answered neither created nor existing')));
      }
    }
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
  readonly isImpatient: boolean;
  readonly settle: Settle;
}

type Settle = (work: StartWork, answer: RunStartedResult | EngineError) => void;

function failAll(starts: readonly DecidedStart[], error: EngineError, settle: Settle): void {
  for (const { work } of starts) settle(work, error);
}
