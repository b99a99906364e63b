import type { EngineApi, EngineOptions, RetryRun, StartRun, TaskReport } from '@baton/engine';
import { decide } from '@baton/core';
import { send, type Call } from './calls.js';
import { UNREADABLE } from './history.js';
import { NAMESPACE } from './history-database.js';
import type { Random } from './random.js';
import type { Step } from './recorder.js';

type LeaseOperation = Extract<Operation, { readonly kind: 'lease' }>;

/** What was applied, in an order in which it could have come one by one. */
export type Operation =
  | {
      readonly kind: 'step';
      readonly runId: string;
      readonly atMs: number;
      readonly step: Step;
      readonly batch: string;
    }
  | {
      readonly kind: 'lease';
      readonly runId: string;
      readonly atMs: number;
      readonly call: Call;
      /** As it was given out. */
      readonly leaseId: string;
    };

/** The calls behind recorded events, where the event does not hold all of them. */
export interface Originals {
  readonly starts: ReadonlyMap<string, StartRun>;
  readonly retries: ReadonlyMap<string, RetryRun>;
}

type Decide = NonNullable<EngineOptions['decide']>;

/** One engine on a database of its own, to which a history happens again: one event at a time. */
export class Twin {
  private readonly leases = new Map<string, string>();
  /** By run: what is played now, and how it was decided. */
  private readonly fed = new Map<string, Step>();
  private readonly decided = new Map<string, string>();
  private firstIds: string[] = [];

  constructor(
    private readonly originals: Originals,
    private readonly newId: () => string,
  ) {}

  /** Draws what the recorded decision drew, so that rows have the same ids and the same backoffs. */
  readonly decide: Decide = (dag, run, event, env) => {
    const step = this.fed.get(run.runId);
    if (step === undefined) return decide(dag, run, event, env);
    let ids = 0;
    let randoms = 0;
    const decision = decide(dag, run, event, {
      ...env,
      newId: () => step.ids[ids++] ?? env.newId(),
      random: () => step.randoms[randoms++] ?? env.random(),
    });
    if (decision.kind !== 'needs') {
      this.decided.set(run.runId, `${decision.kind}, ${ids} ids, ${randoms} randoms`);
    }
    return decision;
  };

  /** The engine's own ids: that of the run comes first. */
  readonly nextId = (): string => this.firstIds.shift() ?? this.newId();

  async play(engine: EngineApi, operation: Operation, random: Random): Promise<void> {
    if (operation.kind === 'lease') return this.playLease(engine, operation);
    const { step, runId } = operation;
    const call = this.callOf(runId, step);
    if (call.kind === 'start' && call.start.runId === undefined) this.firstIds = [runId];
    this.fed.set(runId, step);
    this.decided.delete(runId);
    const answer = await send(engine, call); // asks for the id of its run at once
    this.fed.delete(runId);
    const wanted = `${step.effect}, ${step.ids.length} ids, ${step.randoms.length} randoms`;
    expectSame(`decision on ${step.event.type}`, this.decided.get(runId), wanted);
    expectSame(`answer to ${step.event.type}`, answer.text, wantedAnswer(step));
    // Once more changes nothing: another write would show in the version.
    if (!isSafeToRepeat(call) || !random.chance(0.2)) return;
    const repeated = await send(engine, call);
    expectSame(`"applied" of a second ${step.event.type}`, repeated.applied, false);
  }

  /** Lease ids come from the database: each side has its own. */
  private async playLease(engine: EngineApi, { call, leaseId: recorded }: LeaseOperation): Promise<void> {
    if (call.kind === 'heartbeat') {
      const leaseId = this.leaseOf(recorded);
      const { text } = await send(engine, { kind: 'heartbeat', heartbeat: { ...call.heartbeat, leaseId } });
      if (text === 'LOST' || text === 'RETRY') throw new Error(`a heartbeat was answered ${text}`);
      return;
    }
    const answer = await send(engine, call);
    expectSame('answer to an acquire', answer.text, 'GRANTED');
    if (answer.leaseId !== undefined) this.leases.set(recorded, answer.leaseId);
  }

  private leaseOf(recorded: string): string {
    const leaseId = this.leases.get(recorded);
    if (leaseId === undefined) throw new Error(`nobody was given the lease ${recorded}`);
    return leaseId;
  }

  private callOf(runId: string, { event, version }: Step): Call {
    switch (event.type) {
      case 'RunStarted': {
        const start = this.originals.starts.get(runId);
        if (start === undefined) throw new Error(`nobody started ${runId}`);
        return { kind: 'start', start };
      }
      case 'NodeCompleted':
      case 'NodeFailed':
      case 'TaskReleased':
      case 'TaskDeferred':
        return { kind: 'report', report: this.reportOf(runId, event) };
      case 'TaskWoken': {
        const { taskId, attempt } = event;
        return { kind: 'fire', item: { kind: 'task', namespace: NAMESPACE, runId, taskId, attempt } };
      }
      case 'TimerFired':
        return { kind: 'fire', item: { kind: 'timer', namespace: NAMESPACE, runId, timerId: event.timerId } };
      case 'SignalReceived': {
        const { signalId, name, payload, expiresInMs } = event;
        const base = { namespace: NAMESPACE, runId, name, payload, signalId };
        return { kind: 'signal', signal: expiresInMs === undefined ? base : { ...base, expiresInMs } };
      }
      case 'RunCancelled': {
        const { commandId: requestId, reason } = event;
        return { kind: 'cancel', cancel: { namespace: NAMESPACE, runId, requestId, reason } };
      }
      case 'RunRetried': {
        const retry = this.originals.retries.get(event.commandId);
        if (retry === undefined) throw new Error(`nobody asked for ${event.commandId} on version ${version}`);
        return { kind: 'retry', retry };
      }
      case 'CompensateRun':
        return {
          kind: 'retry-compensation',
          retryCompensation: { namespace: NAMESPACE, runId, requestId: event.commandId },
        };
    }
  }

  private reportOf(runId: string, event: Extract<Step['event'], { readonly reportHash: string }>): TaskReport {
    const { taskId, nodeId, attempt } = event;
    const leaseId = event.leaseId === undefined ? undefined : this.leaseOf(event.leaseId);
    const base = {
      namespace: NAMESPACE,
      runId,
      taskId,
      nodeId,
      attempt,
      ...(leaseId === undefined ? {} : { leaseId }),
    };
    switch (event.type) {
      case 'NodeCompleted':
        return { ...base, status: 'completed', output: event.output };
      case 'NodeFailed':
        if (event.failure.code === 'REPORT_REJECTED') return { ...base, status: 'completed', output: UNREADABLE };
        return { ...base, status: 'failed', failure: event.failure, retryable: event.retryable };
      case 'TaskReleased':
        return { ...base, status: 'released', notStarted: !event.started };
      case 'TaskDeferred':
        return { ...base, status: 'deferred', retryAfterMs: event.delayMs };
    }
  }
}

function isSafeToRepeat(call: Call): boolean {
  switch (call.kind) {
    case 'start':
      return call.start.runId !== undefined || call.start.idempotencyKey !== undefined;
    case 'report':
      return call.report.attempt !== 0; // which means the one that is out, whichever that is
    case 'fire':
      return call.item.kind === 'timer'; // an early wake-up is armed again each time
    default:
      return true;
  }
}

function wantedAnswer(step: Step): string {
  const { event, report, delivered, effect } = step;
  if (event.type === 'NodeFailed' && event.failure.code === 'REPORT_REJECTED') return 'REJECTED';
  if (report !== undefined) return report;
  if (event.type === 'SignalReceived') return delivered === true ? 'DELIVERED' : 'BUFFERED';
  if (event.type === 'TaskWoken' || event.type === 'TimerFired') return effect === 'applied' ? 'APPLIED' : 'IGNORED';
  if (event.type === 'RunStarted') return 'CREATED';
  return 'DONE';
}

function expectSame(what: string, found: unknown, wanted: unknown): void {
  if (found !== wanted) throw new Error(`${what}: ${String(found)}, but in the batch it was ${String(wanted)}`);
}
