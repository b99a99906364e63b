import type { EngineApi, LeaseWish, LeasedTask, StartRun, TaskReport, WantedTask } from '@baton/engine';
import type { EventReader, SqlExecutor } from '@baton/storage-postgres';
import type { SagaResolver } from '../definition/saga.js';
import type { SagaStore } from '../storage/saga-store.js';
import { checkPositive, faultOf, invalid, isId, kindReported } from './checks.js';
import { EndCheck } from './end-check.js';
import { translated } from './engine-errors.js';
import { SagaError } from './errors.js';
import { kindOfJournal, statusOfRun, subjectOf } from './kinds.js';
import { LeaseBook } from './lease-book.js';
import { Peeks } from './peeks.js';
import type * as ports from './ports.js';
import type { TerminalSagaStatus } from './status.js';

export interface JournalOptions {
  /** Not owned: whoever opened it closes it after the journal. */
  readonly store: SagaStore;
  /** Over the same store (`openSagaEngine`). Not owned. */
  readonly engine: EngineApi;
  /** Whose steps this process runs; asked at each claim. */
  readonly resolver: SagaResolver;
  readonly namespace: string;
  /** Of leases. Unique for each process. */
  readonly owner: string;
  /** Fresh UUIDs. */
  readonly newId: () => string;
}

/** The ports of the journal, and the start within a transaction of the caller. */
export interface SagaJournal extends ports.Journal {
  /**
   * As `enqueue`, within the caller's transaction: the run is there when that commits, and never was when it rolls back.
   * Takes no step. Tell the dispatcher after the commit.
   */
  enqueueWithin(executor: SqlExecutor, instance: ports.NewInstance): Promise<ports.Enqueued>;
}

/**
 * The journal over an engine, whatever store that has.
 * J1. It decides nothing: each call is one of the engine, and the engine asks `decide`.
 * J2. What a call refuses has changed nothing.
 */
export function createJournal(options: JournalOptions): SagaJournal {
  return new EngineJournal(options);
}

const PAGE = 1_000;
/** More in one answer than a reader can want; a larger limit is this one. */
const LARGEST_READ = 10_000;
const FIELDS: Readonly<Record<keyof ports.NewInstance, true>> = {
  ...{ runId: true, sagaId: true, sagaVersion: true, input: true },
  ...{ idempotencyKey: true, businessKey: true, traceparent: true },
};

class EngineJournal implements SagaJournal {
  private readonly leases = new LeaseBook();
  private readonly peeks = new Peeks();
  private readonly ends: EndCheck;
  /** Claims whose answers were lost: said again, they give the same leases (R10). */
  private readonly lostCalls: string[] = [];

  constructor(private readonly options: JournalOptions) {
    this.ends = new EndCheck(options);
  }

  async enqueue(instance: ports.NewInstance, take?: ports.TakeNext): Promise<ports.Enqueued> {
    const start = this.startOf(instance);
    const lease = take === undefined ? {} : { lease: this.wishOf(take) };
    const { runId, created, leased = [] } = await translated(this.options.engine.start({ ...start, ...lease }));
    return this.enqueued(instance, { runId, created, claimed: leased });
  }

  async enqueueWithin(executor: SqlExecutor, instance: ports.NewInstance): Promise<ports.Enqueued> {
    const { engine, store, newId } = this.options;
    const write = (start: Parameters<SagaStore['writeStart']>[2]) => store.writeStart(executor, newId(), start);
    const { runId, created } = await translated(engine.startWith(this.startOf(instance), write));
    return this.enqueued(instance, { runId, created, claimed: [] });
  }

  async append(lease: ports.StepLease, report: ports.StepReport, take?: ports.TakeNext): Promise<ports.Appended> {
    const fault = faultOf(report) ?? (await this.phaseFault(lease, report));
    if (fault !== null) {
      // J4: an unknown run and a stale lease are told before bad content.
      await this.ends.holds(lease);
      throw fault;
    }
    if (!isId(lease.runId)) throw unknownRun(lease.runId);
    if (!isId(lease.taskId)) throw staleLease('there is no such task');
    const wish = take === undefined ? { owner: this.options.owner, ttlMs: 0, max: 0 } : this.wishOf(take);
    const call = this.options.engine.reportAndLease(this.reportOf(lease, report), wish);
    const { outcome, leased, status } = await translated(call);
    this.leases.forget(lease);
    this.leases.remember(leased);
    switch (outcome) {
      case 'APPLIED':
      case 'APPLIED_CANCELLED':
      // The database would not store it, whatever it was: the engine has failed the attempt, which is a change.
      case 'REJECTED':
      case 'DUPLICATE': {
        const applied = outcome !== 'DUPLICATE';
        return { applied, status: status === null ? null : statusOfRun(status), claimed: leased };
      }
      case 'NOT_FOUND':
        throw status === null ? unknownRun(lease.runId) : staleLease('there is no such task');
      case 'STALE':
        throw staleLease('the attempt is over, or somebody else has it');
      case 'CONFLICT':
        throw staleLease('the attempt was reported already, with something else');
    }
  }

  async load(runId: string): Promise<readonly ports.SagaEvent[]> {
    if (!isId(runId)) throw unknownRun(runId);
    const events: ports.SagaEvent[] = [];
    for (;;) {
      const page = await translated(
        this.options.engine.history(this.options.namespace, runId, events.at(-1)?.version ?? 0, PAGE),
      );
      for (const { seq, kind, nodeId, attempt, code, detail, at } of page) {
        const known = kindOfJournal(kind);
        // Of a run as a whole the step that caused it is in the entry before.
        const step = known === null || subjectOf(known) === 'step' ? nodeId : null;
        events.push({ version: seq, kind: known ?? kind, step, attempt, code, detail, at });
      }
      if (page.length < PAGE) return events;
    }
  }

  async claimPending({ limit, leaseMs }: ports.ClaimBatch): Promise<readonly ports.ClaimedStep[]> {
    checkPositive(limit, 'limit');
    checkPositive(leaseMs, 'leaseMs');
    const definitions = this.definitions();
    if (definitions.length === 0) return [];
    const { namespace, owner, engine, newId } = this.options;
    const callId = this.lostCalls.shift() ?? newId();
    try {
      const claimed = await engine.claim({ namespace, definitions, owner, callId, ttlMs: leaseMs, limit });
      this.leases.remember(claimed);
      return claimed;
    } catch (error) {
      this.lostCalls.push(callId);
      return translated(Promise.reject(error instanceof Error ? error : new Error(String(error))));
    }
  }

  async peekPending(limit: number): Promise<readonly ports.ClaimablePeek[]> {
    checkPositive(limit, 'limit');
    const definitions = this.definitions();
    if (definitions.length === 0) return [];
    const { engine, namespace } = this.options;
    return (await translated(engine.claimable(namespace, definitions, limit))).map((task) => this.peeks.of(task));
  }

  async claimOne(peek: ports.ClaimablePeek, leaseMs: number): Promise<ports.ClaimedStep | null> {
    checkPositive(leaseMs, 'leaseMs');
    const task = this.peeks.taskOf(peek);
    if (task === undefined) throw invalid('PEEK_INVALID', 'this was not given out by peekPending of this journal');
    const { engine, owner, newId } = this.options;
    const { namespace, runId, taskId, attempt } = task;
    const call = { namespace, runId, taskId, attempt, owner, callId: newId(), ttlMs: leaseMs, wantInput: true };
    const answer = await translated(engine.acquire(call));
    if (answer.status !== 'GRANTED' || answer.leaseId === undefined) return null;
    const claimed: LeasedTask = {
      ...task,
      leaseId: answer.leaseId,
      ttlMs: answer.ttlMs ?? leaseMs,
      startToCloseMs: answer.startToCloseMs ?? null,
      input: answer.input ?? 'null',
      ...(answer.progress === undefined ? {} : { progress: answer.progress }),
    };
    this.leases.remember([claimed]);
    return claimed;
  }

  async markTerminal(lease: ports.StepLease, status: TerminalSagaStatus): Promise<boolean> {
    const report = await this.ends.reportFor(lease, status);
    if (report === 'not-ours') return false;
    if (report === 'ended') return true;
    const wish = { owner: this.options.owner, ttlMs: 0, max: 0 };
    const answer = await translated(this.options.engine.reportAndLease(this.reportOf(lease, report), wish));
    this.leases.forget(lease);
    const isOurs = answer.outcome === 'APPLIED' || answer.outcome === 'APPLIED_CANCELLED';
    return isOurs && answer.status !== null && statusOfRun(answer.status) === status;
  }

  async repoReady(): Promise<void> {
    await this.options.store.checkReady();
  }

  async heartbeat(lease: ports.StepLease, leaseMs: number, progress?: string): Promise<ports.HeartbeatVerdict> {
    checkPositive(leaseMs, 'leaseMs');
    const { runId, taskId, attempt, leaseId } = lease;
    if (!isId(runId) || !isId(taskId)) return 'lost';
    const { engine, namespace } = this.options;
    const more = progress === undefined ? {} : { progress };
    const call = engine.heartbeat({ namespace, runId, taskId, attempt, leaseId, ttlMs: leaseMs, ...more });
    return VERDICTS[(await translated(call)).status];
  }

  loadSince(after: ports.GlobalCursor | null, limit: number): Promise<readonly ports.GlobalEvent[]> {
    return readEvents(this.options.store.events, this.options.namespace, after, limit);
  }

  async head(): Promise<ports.GlobalCursor | null> {
    const { events } = this.options.store;
    const isEmpty = (await this.loadSince(null, 1)).length === 0;
    return isEmpty ? null : translated(events.head());
  }

  /** Engine and store are closed by whoever opened them. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  private startOf(instance: ports.NewInstance): StartRun {
    const unknown = Object.keys(instance).find((field) => !Object.hasOwn(FIELDS, field));
    // J1: a status or a position of its own is nothing that a new run may have.
    if (unknown !== undefined) throw invalid('FIELD_UNKNOWN', `a new run has no ${unknown}`, `/${unknown}`);
    const { sagaId, sagaVersion, ...more } = instance;
    return { namespace: this.options.namespace, definitionId: sagaId, definitionVersion: sagaVersion, ...more };
  }

  private enqueued(instance: ports.NewInstance, answer: ports.Enqueued): ports.Enqueued {
    if (!answer.created && instance.idempotencyKey === undefined) {
      throw new SagaError('conflict', 'DUPLICATE_INSTANCE', `there is a run ${answer.runId} already`);
    }
    this.leases.remember(answer.claimed);
    return answer;
  }

  /** J10: what is said must be of the phase that the lease is of. Known from the claim, without a read. */
  private async phaseFault(lease: ports.StepLease, report: ports.StepReport): Promise<SagaError | null> {
    const reported = kindReported(report);
    if (reported === 'any') return null;
    const kind = this.leases.kindOf(lease) ?? (await this.ends.kindOf(lease));
    if (kind === undefined || kind === reported) return null;
    const phase = kind === 'forward' ? 'goes forward' : 'undoes a step';
    return invalid('PHASE_INVALID', `${report.kind} cannot be said of a lease that ${phase}`, '/kind');
  }

  private reportOf(lease: ports.StepLease, report: ports.StepReport): TaskReport {
    const { runId, taskId, nodeId, attempt, leaseId } = lease;
    const base = { namespace: this.options.namespace, runId, taskId, nodeId, attempt, leaseId };
    switch (report.kind) {
      case 'step_completed':
        return { ...base, status: 'completed', output: report.output };
      case 'step_compensated':
        return { ...base, status: 'completed', output: report.output ?? 'null' };
      case 'step_failed':
      case 'step_compensation_failed':
        return { ...base, status: 'failed', failure: report.failure, retryable: report.retryable };
      case 'step_deferred':
        return { ...base, status: 'deferred', retryAfterMs: report.delayMs };
      case 'step_released':
        return { ...base, status: 'released', notStarted: report.notStarted };
    }
  }

  private wishOf({ max, leaseMs }: ports.TakeNext): LeaseWish {
    checkPositive(max, 'max');
    checkPositive(leaseMs, 'leaseMs');
    const { owner, resolver } = this.options;
    // W12: of a version that this process does not have it takes nothing; others do.
    const wants = ({ definitionId, definitionVersion }: WantedTask) =>
      resolver.resolve(definitionId, definitionVersion) !== undefined;
    return { owner, ttlMs: leaseMs, max, wants };
  }

  private definitions() {
    return this.options.resolver.all().map(({ id, version, queue }) => ({ id, version, queue }));
  }
}

const VERDICTS = { OK: 'ok', LOST: 'lost', CANCELLED: 'cancelled', RETRY: 'retry' } as const;

/** The reader of events as the journal offers it. */
export async function readEvents(
  reader: EventReader,
  namespace: string,
  after: ports.GlobalCursor | null,
  limit: number,
): Promise<readonly ports.GlobalEvent[]> {
  checkPositive(limit, 'limit');
  try {
    const { events } = await reader.read(namespace, after, Math.min(limit, LARGEST_READ));
    return events.map(({ cursor, id, runId, runSeq, type, payload, traceparent, at }) => ({
      ...{ cursor, eventId: id, runId, runSeq, type, payload, traceparent, createdAt: at },
    }));
  } catch (error) {
    if (error instanceof RangeError) throw invalid('CURSOR_INVALID', error.message, '/after');
    throw error;
  }
}

function unknownRun(runId: string): SagaError {
  return new SagaError('not-found', 'NOT_FOUND', `there is no run ${JSON.stringify(runId)}`);
}

function staleLease(why: string): SagaError {
  return new SagaError('conflict', 'STALE_LEASE', `the lease is not the current one: ${why}`);
}
