import type { Failure, ReportOutcome, RunEvent, TaskState } from '@baton/core';
import { checkPayload } from '@baton/core';
import type { EngineError, LeaseWish, ReportAndLeaseResult, TaskReport } from '../api.js';
import type { Choice, Outcome, SeenRun, Work } from '../lane/work.js';
import { checkCount, checkDuration, checkName, checkUuid, cleanText, invalid, isUuid } from './checks.js';

const longestMessage = 4_000;
const longestCode = 120;

export interface ReportDeps {
  readonly hash: (text: string) => string;
  readonly settle: (answer: ReportAndLeaseResult | EngineError) => void;
  readonly wish?: LeaseWish;
}

/** A worker's report on its way (R14). All outcomes are acknowledged; only an EngineError makes the worker send again. */
export class ReportWork implements Work {
  readonly namespace: string;
  readonly runId: string;
  readonly size: number;
  readonly way = 'optimistic';
  readonly keysFirst = false;
  readonly command = null;
  readonly wish?: LeaseWish;
  misses = 0;
  dataErrors = 0;
  /** R8: its content cannot be stored; the attempt fails instead. */
  private rejection: string | null = null;

  private constructor(
    private readonly report: TaskReport,
    private readonly reportHash: string,
    private readonly deps: ReportDeps,
  ) {
    this.namespace = report.namespace;
    this.runId = report.runId;
    if (deps.wish !== undefined) this.wish = deps.wish;
    this.size = (report.output?.length ?? 0) + (report.failure?.message.length ?? 0);
  }

  /** Throws what the caller must put right. An output that cannot be stored fails the attempt for good instead. */
  static of(raw: TaskReport, deps: ReportDeps): ReportWork {
    checkCount(raw.attempt, 'attempt');
    checkName(raw.nodeId, 'nodeId');
    const report: TaskReport = {
      ...raw,
      runId: checkUuid(raw.runId, 'runId'),
      taskId: checkUuid(raw.taskId, 'taskId'),
      ...(raw.leaseId === undefined ? {} : { leaseId: raw.leaseId.toLowerCase() }),
      ...(raw.failure === undefined ? {} : { failure: cleanFailure(raw.failure) }),
      ...(raw.retryAfterMs === undefined ? {} : { retryAfterMs: checkDuration(raw.retryAfterMs, 'retryAfterMs') }),
    };
    const work = new ReportWork(report, deps.hash(contentOf(report)), deps);
    if (report.status === 'completed') {
      const check = checkPayload(report.output ?? 'null');
      // Nobody could ever send this again with success: the attempt ends here, with a code that says why.
      if (!check.ok) work.rejection = `${check.code}: ${check.message}`;
    }
    return work;
  }

  choose(seen: SeenRun): Choice {
    const task = seen.state.tasks.get(this.report.taskId);
    const stale = task === undefined ? null : this.compareLease(task, seen);
    if (stale === 'reread') return { kind: 'reread' };
    if (stale !== null) {
      const decision = { kind: 'ignored', reason: stale, actions: [], state: seen.state, report: 'STALE' } as const;
      return { kind: 'ignored', decision };
    }
    return { kind: 'event', event: this.event() };
  }

  settle(outcome: Outcome): void {
    if (outcome.kind === 'failed') this.deps.settle(outcome.error);
    else this.deps.settle({ outcome: this.outcomeOf(outcome), ...afterwards(outcome) });
  }

  private outcomeOf(outcome: Exclude<Outcome, { kind: 'failed' }>): ReportOutcome {
    switch (outcome.kind) {
      case 'applied':
        return this.rejection === null ? (outcome.decision.report ?? 'APPLIED') : 'REJECTED';
      case 'ignored':
        return outcome.decision.report ?? 'STALE';
      case 'missing':
      case 'refused':
      case 'known-command':
        return 'NOT_FOUND';
    }
  }

  becomeRejection(reason: string): 'again' | 'stuck' {
    if (this.rejection !== null) return 'stuck';
    this.rejection = reason;
    return 'again';
  }

  /**
   * A lease is written once for an attempt, and an expired one is never granted again (R9): where the worker names
   * one, it must be the row's. Closed attempts have none; `decide` tells DUPLICATE from CONFLICT there.
   */
  private compareLease(task: TaskState, seen: SeenRun): 'reread' | string | null {
    const { leaseId, attempt } = this.report;
    if (leaseId === undefined || task.status !== 'SCHEDULED') return null;
    if (attempt !== 0 && attempt !== task.attempt) return null;
    const held = isUuid(leaseId) ? seen.leaseIdOf(task.taskId) : null;
    if (held === undefined) return 'reread';
    return held === leaseId ? null : 'the lease is not the one of this attempt';
  }

  private event(): RunEvent {
    const { taskId, nodeId, attempt, leaseId, status } = this.report;
    const base = {
      taskId,
      nodeId,
      attempt,
      reportHash: this.reportHash,
      ...(leaseId === undefined ? {} : { leaseId }),
    };
    if (this.rejection !== null) {
      const failure = { code: 'REPORT_REJECTED', message: cleanText(this.rejection, longestMessage) };
      return { type: 'NodeFailed', ...base, failure, retryable: false };
    }
    switch (status) {
      case 'completed':
        return { type: 'NodeCompleted', ...base, output: this.report.output ?? 'null' };
      case 'failed':
        return {
          type: 'NodeFailed',
          ...base,
          failure: failureOf(this.report),
          retryable: this.report.retryable ?? true,
        };
      case 'released':
        return { type: 'TaskReleased', ...base, started: this.report.notStarted !== true };
      case 'deferred':
        return { type: 'TaskDeferred', ...base, delayMs: this.report.retryAfterMs ?? 0 };
      default:
        throw invalid('STATUS_INVALID', `unknown status ${String(status)}`, '/status');
    }
  }
}

function afterwards(outcome: Exclude<Outcome, { kind: 'failed' }>): Pick<ReportAndLeaseResult, 'leased' | 'status'> {
  switch (outcome.kind) {
    case 'applied':
      return { leased: outcome.leased, status: outcome.decision.state.status };
    case 'ignored':
      return { leased: [], status: outcome.decision.state.status };
    case 'refused':
    case 'known-command':
      return { leased: [], status: outcome.state.status };
    case 'missing':
      return { leased: [], status: null };
  }
}

function failureOf(report: TaskReport): Failure {
  return report.failure ?? { code: 'TASK_FAILED', message: 'task execution failed' };
}

function cleanFailure(failure: Failure): Failure {
  const code = cleanText(failure.code, longestCode);
  const message = cleanText(failure.message, longestMessage);
  return { code: code === '' ? 'TASK_FAILED' : code, message };
}

/** Everything that would make two reports of one attempt differ (R14). */
function contentOf(report: TaskReport): string {
  switch (report.status) {
    case 'completed':
      return `completed\n${report.output ?? 'null'}`;
    case 'failed': {
      const { code, message } = failureOf(report);
      return `failed\n${JSON.stringify([code, message, report.retryable ?? true])}`;
    }
    case 'released':
      return `released\n${String(report.notStarted === true)}`;
    case 'deferred':
      return `deferred\n${report.retryAfterMs ?? 0}`;
    default:
      throw invalid('STATUS_INVALID', "status must be 'completed', 'failed', 'released' or 'deferred'", '/status');
  }
}
