import { EngineError } from '../api.js';
import type { RunCache } from '../caches/run-cache.js';
import type { FoldEnv } from '../fold/run-fold.js';
import type { EngineHooks, EngineLimits, EngineOptions } from '../options.js';
import { FenceMissError, StoreError, type LockedSession, type RunWrite, type Store } from '../ports.js';
import { takeKeys, writeRuns, writesOf } from './batch-write.js';
import { Carried } from './carried.js';
import { Decider, type DeciderDeps, type NeedsReader } from './decider.js';
import { RunTurn } from './run-turn.js';
import { settleTurn, type SettleDeps } from './settle.js';
import { isLockTimeout, tellSafely, unavailable, type StoreFailures } from './store-failures.js';
import { Ways, type Way } from './ways.js';
import { groupByRun, queueOf, type RunQueue, type Work } from './work.js';

export interface PassDeps extends DeciderDeps, SettleDeps {
  readonly store: Store;
  readonly cache: RunCache;
  readonly failures: StoreFailures;
  readonly fold: FoldEnv;
  readonly hooks: EngineHooks;
  readonly limits: EngineLimits;
  readonly now: () => number;
  readonly transactions: NonNullable<EngineOptions['transactions']>;
}

/** What an attempt found out about runs that it wrote nothing of. */
interface Attempted {
  /** Decided on a cached state without a write: read and decide again now. */
  readonly reread: readonly RunQueue[];
}

/** R7: after this many misses a run goes alone, and waits for its lock. */
const missesBeforeAlone = 2;
/** R30: without locks nothing makes sure that a run's turn comes. After so many misses its callers try again. */
const mostMisses = 50;
/** A fence that misses this often under the run's own lock is a broken row, not a race. */
const mostFenceMisses = 5;

/**
 * One batch of events: two ways in (optimistic, lock first), one way out (the write statement) (ADR 0001). In the
 * embedded runtime next to everything goes the optimistic way, also decisions on leases (R30, ADR 0010).
 *
 * Owns: the order of events within a run (R4), what happens to each event when a batch fails (R1, R5, R6, R8).
 * Does not own: what an event means (decide), nor what its caller is told (the work).
 */
export class EventPass {
  private readonly reader: NeedsReader;

  constructor(private readonly deps: PassDeps) {
    const { store } = deps;
    this.reader = this.isSingleStatement
      ? {
          looksAtLeases: true,
          readNeeds: (requests) => store.readNeeds(requests, { withLeases: true }),
          readCommands: (commands) => store.readCommands(commands),
        }
      : store;
  }

  private get isSingleStatement(): boolean {
    return this.deps.transactions === 'single-statement';
  }

  /** Answers what must go to the front of the next batch, in order. */
  async run(works: readonly Work[]): Promise<readonly Work[]> {
    const ways = await Ways.of(works, this.deps.store, this.deps.transactions);
    const carried = new Carried(ways);
    const optimistic: RunQueue[] = [];
    const owners = new Map<string, string>();
    const queues = groupByRun(works);
    if (this.isSingleStatement && queues.every(isContested)) await this.deps.failures.pause(0);
    for (const queue of queues) {
      // I14: one run id under two namespaces is somebody's guess. It never shares a statement with the run itself.
      const isGuess = (owners.get(queue.runId) ?? queue.namespace) !== queue.namespace;
      owners.set(queue.runId, queue.namespace);
      if (isGuess) {
        carried.later(queue);
        continue;
      }
      if (isContested(queue) && !this.isSingleStatement) carried.alone(queue);
      else this.enter(queue, { optimistic, carried, ways });
    }
    if (optimistic.length > 0) await this.guarded(optimistic, 'optimistic', carried);
    await this.finishCarried(carried, ways);
    return carried.next();
  }

  /** The part of a queue before the first event that locks goes the optimistic way. */
  private enter(
    queue: RunQueue,
    { optimistic, carried, ways }: { readonly optimistic: RunQueue[]; readonly carried: Carried; readonly ways: Ways },
  ): void {
    const locksAt = queue.works.findIndex((work) => ways.locks(work));
    if (locksAt === 0) {
      carried.lock(queue);
      return;
    }
    if (locksAt > 0) carried.putRest(queue, queue.works.slice(locksAt));
    optimistic.push(locksAt > 0 ? queueOf(queue.works.slice(0, locksAt)) : queue);
  }

  /** Lock first, or one by one. */
  private async finishCarried(carried: Carried, ways: Ways): Promise<void> {
    for (;;) {
      const group = carried.takeLocked(this.deps.limits.lockedRuns);
      const [first] = group[0]?.works ?? [];
      if (first === undefined) return;
      await this.guarded(group, this.isSingleStatement && !ways.locks(first) ? 'optimistic' : 'lock-first', carried);
    }
  }

  /** One attempt, and what becomes of its events when it fails. Nothing is answered before the attempt is over. */
  private async guarded(queues: readonly RunQueue[], way: Way, carried: Carried): Promise<void> {
    let mustRead = false;
    for (let repeats = 0; ; repeats += 1) {
      try {
        const { reread } = await this.attempt(queues, way, mustRead, carried);
        if (reread.length > 0) await this.guardedReread(reread, carried);
        return;
      } catch (error) {
        this.evict(queues); // R3
        const kind = this.deps.failures.tell(error);
        if (isLockTimeout(error)) return this.leaveLocked(queues, error, carried);
        if (kind === 'transient' && this.deps.failures.mayRepeat(repeats)) {
          await this.deps.failures.pause(repeats);
          mustRead = true;
          continue;
        }
        if (error instanceof FenceMissError && (await this.separate(queues, error, carried))) return;
        if (kind === 'data') return this.bisect(queues, way, error, carried);
        this.failAll(queues, unavailable(error), carried);
        return;
      }
    }
  }

  /** R7: somebody holds one of these runs for long. The others do not wait for it, and no lane waits twice. */
  private leaveLocked(queues: readonly RunQueue[], error: unknown, carried: Carried): void {
    if (queues.length === 1) this.failAll(queues, unavailable(error), carried);
    else for (const queue of queues) carried.alone(queue);
  }

  private async guardedReread(queues: readonly RunQueue[], carried: Carried): Promise<void> {
    this.evict(queues);
    await this.guarded(queues, 'optimistic', carried);
  }

  private attempt(queues: readonly RunQueue[], way: Way, mustRead: boolean, carried: Carried): Promise<Attempted> {
    return way === 'optimistic'
      ? this.attemptOptimistic(queues, mustRead, carried)
      : this.attemptLocked(queues, carried);
  }

  private async attemptOptimistic(
    queues: readonly RunQueue[],
    mustRead: boolean,
    carried: Carried,
  ): Promise<Attempted> {
    const started = this.deps.now();
    const turns = await this.readTurns(queues, mustRead);
    await new Decider(this.deps, this.reader).run(turns);
    const writes = writesOf(turns);
    const { held, fenced, unsure } = await writeRuns(writes, this.deps);
    const reread: RunQueue[] = [];
    let missed = 0;
    for (const turn of turns) {
      const isFenced = fenced.has(turn.queue.runId); // its state was current
      if (turn.hasWrite && !turn.isFresh && !isFenced) this.deps.cache.learn(held.has(turn.queue.runId));
      if (turn.hasWrite && !held.has(turn.queue.runId)) {
        this.deps.cache.evict(turn.queue.runId);
        missed += 1;
        if (this.isSingleStatement) this.missAgain(turn.queue, carried);
        else if (isFenced) carried.alone(turn.queue);
        else carried.missed(turn.queue);
        continue;
      }
      await this.conclude(turn, carried, reread);
    }
    if (unsure || fenced.size > 0) this.evict(queues); // R3
    this.tellCommit('optimistic', turns, writes.length, { missed, started });
    return { reread };
  }

  /** R30: read and decided again, but not for ever. */
  private missAgain(queue: RunQueue, carried: Carried): void {
    const worn = queue.works.filter((work) => work.misses + 1 >= mostMisses);
    const others = queue.works.slice(worn.length);
    const message = 'other decisions on this run came first each time; try again';
    for (const work of worn)
      work.settle({ kind: 'failed', error: new EngineError('unavailable', 'RUN_BUSY', message) });
    if (others.length > 0) carried.missed(queueOf(others));
    else carried.done(queue);
  }

  private async readTurns(queues: readonly RunQueue[], mustRead: boolean): Promise<RunTurn[]> {
    const { cache, store, fold } = this.deps;
    const turns: RunTurn[] = [];
    const unread: RunQueue[] = [];
    for (const queue of queues) {
      const cached = mustRead ? undefined : cache.get(queue.namespace, queue.runId);
      if (cached === undefined) unread.push(queue);
      else turns.push(RunTurn.ofCached(queue, cached, cache, fold));
    }
    if (unread.length === 0) return turns;
    this.evict(unread); // what is known beside an older state must not be added to a newer one
    const stored = await store.readRuns(unread);
    for (const queue of unread) turns.push(RunTurn.ofStored(queue, stored.get(queue.runId), false, fold));
    return turns;
  }

  /** R9: locks the runs, then decides on lease facts under the locks of their task rows. */
  private async attemptLocked(queues: readonly RunQueue[], carried: Carried): Promise<Attempted> {
    const started = this.deps.now();
    this.evict(queues);
    const batchId = this.deps.newId();
    let turns: readonly RunTurn[] = [];
    let writes: readonly RunWrite[] = [];
    let skipped: readonly RunQueue[] = [];
    let isWritten = false;
    const decideAndWrite = async (session: LockedSession): Promise<void> => {
      skipped = queues.filter((queue) => session.skipped.has(queue.runId));
      turns = queues.filter((queue) => !skipped.includes(queue)).map((queue) => this.lockedTurn(queue, session));
      await new Decider(this.deps, session).run(turns);
      await takeKeys(turns, session);
      writes = writesOf(turns);
      const held = writes.length === 0 ? writes : [...(await session.write({ batchId, runs: writes })).held];
      if (held.length !== writes.length) throw new StoreError('transient', 'a locked run was not held');
      isWritten = true;
    };
    let committed: ReadonlySet<string> | null = null;
    try {
      const keysFirst = queues.some((queue) => queue.works.some((work) => work.keysFirst));
      // R7: several runs wait for nobody; one alone waits for its lock.
      await this.deps.store.withLockedRuns(queues, decideAndWrite, { keysFirst, skipLocked: queues.length > 1 });
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== 'unknown-commit') throw error;
      if (!isWritten)
        throw new StoreError('transient', 'the connection broke before COMMIT', undefined, { cause: error });
      this.deps.failures.tell(error);
      committed = await this.deps.failures.committed(batchId, writes);
    }
    let missed = 0;
    for (const turn of turns) {
      if (turn.hasWrite && committed !== null && !committed.has(turn.queue.runId)) {
        missed += 1;
        carried.later(turn.queue);
      } else {
        await this.conclude(turn, carried, []);
      }
    }
    for (const queue of skipped) carried.missed(queue);
    if (committed !== null) this.evict(queues); // R3
    this.tellCommit('lock-first', turns, writes.length, { missed, started });
    return { reread: [] };
  }

  private lockedTurn(queue: RunQueue, session: LockedSession): RunTurn {
    const turn = RunTurn.ofStored(queue, session.runs.get(queue.runId), true, this.deps.fold);
    turn.keyHolder = session.keyHolders.get(queue.runId);
    return turn;
  }

  /** What was decided is durable, or needed no write: answers, then what is left of the run's events (R4). */
  private async conclude(turn: RunTurn, carried: Carried, reread: RunQueue[]): Promise<void> {
    if (turn.stuckReason !== null) await this.flagStuck(turn.queue, turn.stuckReason);
    settleTurn(turn, this.deps);
    if (turn.remaining.length === 0) {
      carried.done(turn.queue);
      return;
    }
    const left = queueOf(turn.remaining);
    if (turn.left === 'reread') reread.push(left);
    else if (turn.left === 'lock') carried.lock(left);
    else carried.later(left);
  }

  /** R1: the named runs go alone; the others are decided again without them. */
  private async separate(queues: readonly RunQueue[], error: FenceMissError, carried: Carried): Promise<boolean> {
    const named = queues.filter((queue) => error.runIds.includes(queue.runId));
    const others = queues.filter((queue) => !error.runIds.includes(queue.runId));
    if (named.length === 0) return false;
    for (const queue of named) {
      for (const work of queue.works) work.misses += 1;
      const first = queue.works[0];
      if (first === undefined || first.misses < mostFenceMisses) carried.alone(queue);
      else await this.giveUp(queue, 'its rows are not as its decisions see them', carried);
    }
    if (others.length > 0) await this.guarded(others, 'lock-first', carried);
    return true;
  }

  /** R5: finds what the database cannot store by halves, in order. */
  private async bisect(queues: readonly RunQueue[], way: Way, error: unknown, carried: Carried): Promise<void> {
    const [only] = queues;
    if (queues.length > 1) {
      const middle = Math.ceil(queues.length / 2);
      await this.guarded(queues.slice(0, middle), way, carried);
      await this.guarded(queues.slice(middle), way, carried);
    } else if (only !== undefined && only.works.length > 1) {
      const middle = Math.ceil(only.works.length / 2);
      carried.putRest(only, only.works.slice(middle));
      await this.guarded([queueOf(only.works.slice(0, middle))], way, carried);
    } else if (only !== undefined) {
      await this.condemn(only, way, error, carried);
    }
  }

  /** R8: an event that fails twice alone, deterministically. */
  private async condemn(queue: RunQueue, way: Way, error: unknown, carried: Carried): Promise<void> {
    const work = queue.works[0];
    if (work === undefined) return;
    const reason = error instanceof Error ? error.message : String(error);
    work.dataErrors += 1;
    if (work.dataErrors >= 2) {
      const next = work.becomeRejection?.(reason) ?? 'refused';
      if (next === 'stuck') return this.giveUp(queue, reason, carried);
      if (next === 'refused') {
        const message = `this cannot be stored: ${reason}`;
        this.failAll([queue], new EngineError('invalid', 'CONTENT_REJECTED', message, { cause: error }), carried);
        return;
      }
      work.dataErrors = 0;
    }
    await this.guarded([queue], way, carried);
  }

  private async giveUp(queue: RunQueue, reason: string, carried: Carried): Promise<void> {
    await this.flagStuck(queue, reason);
    this.failAll([queue], new EngineError('precondition', 'RUN_STUCK', `the run cannot go on: ${reason}`), carried);
  }

  private async flagStuck(queue: RunQueue, reason: string): Promise<void> {
    this.deps.cache.evict(queue.runId);
    try {
      await this.deps.store.flagStuck({ namespace: queue.namespace, runId: queue.runId }, reason);
    } catch (error) {
      this.deps.failures.tell(error);
    }
    tellSafely(() => this.deps.hooks.onStuck?.({ namespace: queue.namespace, runId: queue.runId }, reason));
  }

  private failAll(queues: readonly RunQueue[], error: EngineError, carried: Carried): void {
    for (const queue of queues) {
      for (const work of queue.works) work.settle({ kind: 'failed', error });
      carried.done(queue);
    }
  }

  private evict(queues: readonly RunQueue[]): void {
    for (const queue of queues) this.deps.cache.evict(queue.runId);
  }

  private tellCommit(
    way: Way,
    turns: readonly RunTurn[],
    runs: number,
    { missed, started }: { readonly missed: number; readonly started: number },
  ): void {
    const { onCommit } = this.deps.hooks;
    if (onCommit === undefined || runs === 0) return;
    let events = 0;
    for (const turn of turns) if (turn.hasWrite) events += turn.outcomes.length;
    const durationMs = this.deps.now() - started;
    tellSafely(() => onCommit({ way, events, runs: runs - missed, missed, durationMs }));
  }
}

/** R7: somebody else is at this run, again and again. */
function isContested({ works }: RunQueue): boolean {
  return (works[0]?.misses ?? 0) >= missesBeforeAlone;
}
