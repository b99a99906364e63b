import { SagaError } from '../../journal/errors.js';
import type {
  Appended,
  ClaimBatch,
  ClaimedStep,
  JournalCore,
  StepLease,
  StepReport,
  TakeNext,
} from '../../journal/ports.js';

/** A journal of straight lines for tests of the runtime alone: who may run what, and what was said of it. */
export class LineJournal implements JournalCore {
  readonly appended: { readonly step: string; readonly report: StepReport; readonly take: TakeNext | undefined }[] = [];
  readonly claims: number[] = [];
  /** Thrown by the next calls, one each. */
  readonly appendFaults: Error[] = [];
  readonly claimFaults: Error[] = [];
  /** Appends and claims wait for it. */
  gate: Promise<void> = Promise.resolve();
  ready: Error | null = null;
  readonly waiting: ClaimedStep[] = [];
  private readonly leased = new Map<string, ClaimedStep>();
  private readonly left = new Map<string, string[]>();
  private count = 0;

  /** Steps of one run, the first of which is claimable. */
  add(...steps: readonly string[]): string {
    const [first, ...rest] = steps;
    if (first === undefined) throw new Error('a run needs a step');
    this.count += 1;
    const runId = `run-${this.count}`;
    this.left.set(runId, rest);
    this.waiting.push(this.step(runId, first));
    return runId;
  }

  enqueue(): Promise<never> {
    return Promise.reject(new Error('not of this test'));
  }

  async append(lease: StepLease, report: StepReport, take?: TakeNext): Promise<Appended> {
    await this.gate;
    const fault = this.appendFaults.shift();
    if (fault !== undefined) throw fault;
    const step = this.leased.get(lease.leaseId);
    if (step === undefined) throw new SagaError('conflict', 'STALE_LEASE', 'the lease is not the current one');
    this.leased.delete(lease.leaseId);
    this.appended.push({ step: step.nodeId, report, take });
    if (report.kind === 'step_released') this.waiting.push({ ...step, attempt: step.attempt + 1 });
    if (report.kind !== 'step_completed') return { applied: true, status: 'running', claimed: [] };
    const [next, ...rest] = this.left.get(step.runId) ?? [];
    this.left.set(step.runId, rest);
    if (next === undefined) return { applied: true, status: 'succeeded', claimed: [] };
    this.waiting.unshift(this.step(step.runId, next));
    return { applied: true, status: 'running', claimed: this.lease(take?.max ?? 0) };
  }

  load(): Promise<readonly never[]> {
    return Promise.resolve([]);
  }

  async claimPending({ limit }: ClaimBatch): Promise<readonly ClaimedStep[]> {
    this.claims.push(limit);
    await this.gate;
    const fault = this.claimFaults.shift();
    if (fault !== undefined) throw fault;
    return this.lease(limit);
  }

  async peekPending(limit: number) {
    await this.gate;
    return this.waiting.slice(0, limit).map(({ runId, taskId, attempt, definitionId, definitionVersion }) => ({
      ...{ runId, taskId, attempt, sagaId: definitionId, sagaVersion: definitionVersion },
    }));
  }

  async claimOne({ taskId }: { readonly taskId: string }): Promise<ClaimedStep | null> {
    await this.gate;
    const at = this.waiting.findIndex((step) => step.taskId === taskId);
    if (at < 0) return null;
    this.waiting.unshift(...this.waiting.splice(at, 1));
    return this.lease(1)[0] ?? null;
  }

  markTerminal(): Promise<boolean> {
    return Promise.resolve(false);
  }

  repoReady(): Promise<void> {
    return this.ready === null ? Promise.resolve() : Promise.reject(this.ready);
  }

  /** Somebody else took the step over. */
  revoke(): void {
    this.leased.clear();
  }

  private lease(limit: number): readonly ClaimedStep[] {
    const taken = this.waiting.splice(0, limit);
    for (const step of taken) this.leased.set(step.leaseId, step);
    return taken;
  }

  private step(runId: string, nodeId: string): ClaimedStep {
    this.count += 1;
    return {
      ...{ namespace: 'default', runId, taskId: `${runId}/${nodeId}`, nodeId, item: 0, kind: 'forward' as const },
      ...{ generation: 1, attempt: 1, failures: 0, queue: 'order', handler: nodeId, definitionId: 'order' },
      ...{ definitionVersion: 1, epoch: 1, leaseId: `lease-${this.count}`, ttlMs: 30_000, startToCloseMs: null },
      ...{ input: '{}', traceparent: null },
    };
  }
}
