import { workerV1 } from '@baton/contracts';
import {
  encodeProgress,
  lazily,
  LeaseKeeper,
  systemClock,
  verdictOfError,
  verdictOfResult,
  type BeatAnswer,
  type KeptLease,
  type Verdict,
} from '@baton/execution';
import { heartbeatResultFromProto, reportOutcome } from '@baton/wire';
import type { TaskContext, TaskHandler } from '../context.js';
import { withFields, type WorkerLogger } from '../logger.js';
import type { SessionClient } from '../session/session-client.js';
import type { TaskMessage } from '../task-message.js';
import { workerRules } from './verdict.js';

export interface GrantedLease extends KeptLease {
  readonly runId: string;
  readonly taskId: string;
  readonly attempt: number;
  readonly leaseId: string;
}

export interface AttemptParts {
  readonly task: TaskMessage;
  readonly lease: GrantedLease;
  readonly inputText: string;
  readonly progress: string | undefined;
  readonly session: Pick<SessionClient, 'heartbeat' | 'report'>;
  readonly logger: WorkerLogger;
}

export type AttemptEnd = Verdict['kind'];

/** One attempt from the granted lease to the acknowledged report. */
export class Attempt {
  private readonly keeper: LeaseKeeper;
  private readonly log: WorkerLogger;
  /** Ends the wait for a handler that does not react when the worker's time is over. */
  private giveBack: (() => void) | undefined;

  constructor(private readonly parts: AttemptParts) {
    const { task, lease, logger } = parts;
    this.keeper = new LeaseKeeper({ lease, clock: systemClock, beat: (progress) => this.beat(progress) });
    const fields = { run_id: task.runId, node_id: task.nodeId, kind: task.kind, attempt: task.attempt };
    this.log = withFields(logger, fields);
  }

  /** Never rejects. Resolves when the coordinator has taken the report, or the session was closed under it. */
  async run(handler: TaskHandler | undefined): Promise<AttemptEnd> {
    const verdict =
      handler === undefined
        ? noHandler(this.parts.task.handler)
        : await Promise.race([this.call(handler), this.givenBack()]);
    try {
      await this.report(verdict);
    } finally {
      this.keeper.release();
    }
    return verdict.kind;
  }

  /** The handler never began (R13). */
  async returnUnstarted(): Promise<void> {
    try {
      await this.report({ kind: 'released', notStarted: true });
    } finally {
      this.keeper.release();
    }
  }

  abort(): void {
    this.keeper.abort('WORKER_STOPPING');
  }

  /** Report the attempt as given back now, whatever the handler still does. */
  giveUp(): void {
    this.giveBack?.();
  }

  private givenBack(): Promise<Verdict> {
    return new Promise((resolve) => {
      this.giveBack = () => resolve({ kind: 'released', notStarted: false });
    });
  }

  private async call(handler: TaskHandler): Promise<Verdict> {
    try {
      return verdictOfResult(await handler(this.context()), workerRules);
    } catch (thrown) {
      const verdict = verdictOfError(thrown, this.keeper.cause, workerRules);
      if (verdict.kind === 'failed') this.log.warn({ code: verdict.code, err: thrown }, 'the handler failed');
      return verdict;
    }
  }

  private async beat(progress: string | undefined): Promise<BeatAnswer> {
    const { runId, taskId, attempt, leaseId } = this.parts.lease;
    const request = { runId, taskId, attempt, leaseId, ttlSeconds: 0n, progress };
    return heartbeatResultFromProto(await this.parts.session.heartbeat(request));
  }

  private context(): TaskContext {
    const { task, inputText, progress } = this.parts;
    const keeper = this.keeper;
    const input = lazily(() => JSON.parse(inputText) as unknown);
    const lastProgress = lazily(() => (progress === undefined ? undefined : (JSON.parse(progress) as unknown)));
    const { runId, taskId, nodeId, item, kind, generation, attempt, idempotencyKey, queue, handler } = task;
    const { definitionId, definitionVersion } = task;
    return {
      ...{ runId, taskId, nodeId, item, kind, generation, attempt, idempotencyKey, queue, handler },
      ...{ definitionId, definitionVersion, inputText },
      input: <T>() => input() as T,
      lastProgress: <T>() => lastProgress() as T | undefined,
      signal: keeper.signal,
      heartbeat: (value) => {
        if (value !== undefined) keeper.setProgress(encodeProgress(value));
      },
      log: this.log,
    };
  }

  private async report(verdict: Verdict): Promise<void> {
    if (verdict.kind === 'silent') return;
    try {
      const answer = await this.parts.session.report(this.requestOf(verdict));
      this.logOutcome(verdict, reportOutcome.fromProto(answer.outcome));
    } catch (error) {
      // The lease runs out and the task is dispatched again: nothing is lost, but somebody should know.
      this.log.error({ err: error, report: verdict.kind }, 'the report could not be delivered');
    }
  }

  private requestOf(verdict: Exclude<Verdict, { kind: 'silent' }>): workerV1.ReportTaskResultRequest {
    const { task, lease } = this.parts;
    const base = {
      taskId: task.taskId,
      runId: task.runId,
      nodeId: task.nodeId,
      attempt: lease.attempt,
      leaseId: lease.leaseId,
      status: verdict.kind,
    };
    switch (verdict.kind) {
      case 'completed':
        return { ...EMPTY_REPORT, ...base, output: Buffer.from(verdict.output, 'utf8') };
      case 'failed':
        return {
          ...EMPTY_REPORT,
          ...base,
          error: verdict.message,
          errorCode: verdict.code,
          nonRetryable: !verdict.retryable,
        };
      case 'deferred':
        return { ...EMPTY_REPORT, ...base, retryAfterMs: BigInt(verdict.delayMs) };
      case 'released':
        return { ...EMPTY_REPORT, ...base, notStarted: verdict.notStarted };
    }
  }

  private logOutcome(verdict: Verdict, outcome: string | undefined): void {
    const fields = { report: verdict.kind, outcome };
    switch (outcome) {
      case 'APPLIED':
      case 'APPLIED_CANCELLED':
      case 'DUPLICATE':
        return this.log.debug(fields, 'reported');
      case 'REJECTED':
        return this.log.error(fields, 'the result cannot be stored; the attempt has failed with REPORT_REJECTED');
      default:
        return this.log.warn(fields, 'the report changed nothing: the attempt had ended already');
    }
  }
}

const EMPTY_REPORT = workerV1.ReportTaskResultRequest.fromPartial({});

function noHandler(name: string): Verdict {
  const message = `this worker has no handler named ${name}`;
  return { kind: 'failed', code: 'NO_HANDLER', message, retryable: true };
}
