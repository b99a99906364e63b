import { SagaError, type SagaErrorDetail } from '../journal/errors.js';
import type { Appended, ClaimedStep } from '../journal/ports.js';
import type { Saga } from '../definition/saga.js';
import { nopTracer } from '../observe/tracer.js';
import type { RunningAttempt, RuntimeParts } from './parts.js';
import { Reporter } from './reporter.js';
import { reportOf } from './reports.js';
import type { SharedLead } from './shared-lead.js';
import type { Slots } from './slots.js';
import { stepFields } from '../executor/step-fields.js';

export interface DriverParts extends Pick<
  RuntimeParts,
  'journal' | 'runner' | 'resolver' | 'config' | 'observer' | 'logger' | 'tracer' | 'clock' | 'random'
> {
  readonly slots: Slots;
  /** A commit left steps that this driver did not take. */
  readonly onLeftOver: () => void;
  /** A commit left the run waiting: for an instant, a signal or another step. */
  readonly onWaiting: () => void;
  /** Events were committed. */
  readonly onCommit: () => void;
}

/** What runs in one slot now. */
interface Drive {
  step: ClaimedStep;
  /** When its lease was asked for: it lasts from then at most. */
  askedAt: number;
  attempt: RunningAttempt | null;
  readonly lead: SharedLead;
  steps: number;
}

/**
 * Owns: what happens between a lease and the next one. Execute, append, go on with what the append took (W1).
 * Does not own: which steps are claimed (Claimer), user code and heartbeats (the executor), what a report leads to
 * (the engine).
 * D1. A drive has a slot and a lease all the time, and gives the slot back exactly once.
 * D2. The steps of one run that one commit takes share the lead of that run.
 * D3. While stopping nothing is taken, and what was taken is given back unstarted (R13).
 * D4. After `abandon` nothing is written any more: leases and locks die by themselves.
 */
export class Driver {
  private readonly drives = new Set<Drive>();
  private readonly reporter: Reporter;
  private isTaking = true;
  private isAbandoned = false;

  constructor(private readonly parts: DriverParts) {
    const { journal, clock, random, logger, config } = parts;
    this.reporter = new Reporter({ journal, clock, random, logger, leaseMs: config.leaseDurationMs });
  }

  /** Starts a drive. The caller took a slot for it; it comes back at the end, whatever happens. */
  begin(step: ClaimedStep, askedAt: number, lead: SharedLead): void {
    const drive: Drive = { step, askedAt, attempt: null, lead, steps: 0 };
    this.drives.add(drive);
    void this.drive(drive);
  }

  get isStopping(): boolean {
    return !this.isTaking;
  }

  /** No drive takes another step from here on. */
  stopTaking(): void {
    this.isTaking = false;
  }

  /** L7: locks first, without I/O, so that none is given up under a step that still runs; then the signals. */
  abort(): void {
    for (const { lead } of this.drives) lead.orphan();
    for (const { attempt } of this.drives) attempt?.abort();
    this.reporter.giveUp();
  }

  abandon(): void {
    this.isAbandoned = true;
  }

  /** What runs now, for people. */
  get running(): readonly SagaErrorDetail[] {
    return [...this.drives].map(({ step, attempt }) => ({
      pointer: `/runs/${step.runId}/steps/${step.nodeId}`,
      code: attempt === null ? 'NOT_REPORTED' : 'STILL_RUNNING',
      message: `${step.kind === 'forward' ? 'step' : 'undo of'} ${step.nodeId} of ${step.definitionId}, run ${step.runId}`,
    }));
  }

  private async drive(drive: Drive): Promise<void> {
    const { clock, observer, slots, logger } = this.parts;
    const began = clock.now();
    const { runId, definitionId: sagaId } = drive.step;
    let isOk = false;
    try {
      isOk = this.isStopping ? await this.giveBack([drive.step]) : await this.traced(drive);
    } catch (error) {
      logger.error({ ...stepFields(drive.step), err: error }, 'driving a saga failed; its lease will run out');
    }
    await drive.lead.release();
    this.drives.delete(drive);
    slots.give(1);
    const facts = { runId, sagaId, steps: drive.steps, durationMs: clock.now() - began };
    observer.drive?.({ ...facts, result: isOk ? 'ok' : 'error' });
  }

  private async traced(drive: Drive): Promise<boolean> {
    const { tracer } = this.parts;
    if (tracer === nopTracer) return this.chain(drive);
    const { runId, definitionId, traceparent } = drive.step;
    const fields = { 'saga.run_id': runId, 'saga.id': definitionId };
    return tracer.span({ name: 'saga.drive', fields, traceparent }, async (span) => {
      const isOk = await this.chain(drive);
      if (!isOk) span.fail('DRIVE_FAILED');
      return isOk;
    });
  }

  /** W1: one slot, one step after the other, for as long as the journal hands out the next. */
  private async chain(drive: Drive): Promise<boolean> {
    for (;;) {
      const saga = this.parts.resolver.resolve(drive.step.definitionId, drive.step.definitionVersion);
      if (saga === undefined) return this.unknown(drive.step);
      drive.attempt = this.parts.runner.begin(drive.step, saga, drive.askedAt);
      const result = await drive.attempt.result;
      drive.attempt = null;
      drive.steps += 1;
      const report = reportOf(drive.step.kind, result);
      if (report === null || this.isAbandoned) return true;
      const next = await this.record(drive, saga, report);
      if (typeof next === 'boolean') return next;
      drive.step = next;
    }
  }

  /** The next step for this slot, or whether the drive ended well. */
  private async record(
    drive: Drive,
    saga: Saga,
    report: Parameters<Reporter['append']>[1],
  ): Promise<ClaimedStep | boolean> {
    const { slots, config } = this.parts;
    const wanted = this.isStopping ? 0 : fanOut(saga);
    const more = slots.take(wanted);
    const take = this.isStopping ? undefined : { max: 1 + more, leaseMs: config.leaseDurationMs };
    drive.askedAt = this.parts.clock.now();
    const reported = await this.reporter.append(drive.step, report, take);
    const claimed = reported.kind === 'appended' ? reported.appended.claimed : [];
    if (reported.kind === 'appended') this.tell(reported.appended, more < wanted);
    if (this.isStopping) {
      slots.give(more);
      return (await this.giveBack(claimed)) && reported.kind !== 'unreported';
    }
    const [next, ...others] = claimed;
    for (const other of others) this.begin(other, drive.askedAt, drive.lead.retain());
    slots.give(more - others.length);
    return next ?? reported.kind !== 'unreported';
  }

  private tell({ claimed, status }: Appended, isShort: boolean): void {
    this.parts.onCommit();
    if (isShort && claimed.length > 0) this.parts.onLeftOver();
    if (claimed.length === 0 && (status === null || OPEN.has(status))) this.parts.onWaiting();
  }

  private async giveBack(steps: readonly ClaimedStep[]): Promise<boolean> {
    let isTold = true;
    for (const step of steps) {
      const { kind } = await this.reporter.append(step, { kind: 'step_released', notStarted: true }, undefined);
      isTold &&= kind !== 'unreported';
    }
    return isTold;
  }

  /** Claims name what this process has, so only a resolver that changes its mind comes here. */
  private unknown(step: ClaimedStep): boolean {
    const error = new SagaError(
      'internal',
      'UNKNOWN_SAGA',
      `no saga ${step.definitionId}@${step.definitionVersion} here`,
    );
    this.parts.logger.error({ ...stepFields(step), err: error }, 'a step of an unknown saga was claimed');
    return false;
  }
}

const OPEN = new Set(['pending', 'running', 'compensating']);

/** Steps that one commit may make runnable besides the next one: none in a chain. */
function fanOut(saga: Saga): number {
  const predecessors = new Set<string>();
  for (const { after } of saga.steps.values()) {
    if (after.length > 1) return saga.steps.size - 1;
    const before = after[0] ?? '';
    if (predecessors.has(before)) return saga.steps.size - 1;
    predecessors.add(before);
  }
  return 0;
}
