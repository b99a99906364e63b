import {
  EngineError,
  type AcquireAnswer,
  type AcquireLease,
  type HeartbeatAnswer,
  type HeartbeatCall,
} from '../api.js';
import type { RunCache } from '../caches/run-cache.js';
import type { EngineHooks } from '../options.js';
import type { Store } from '../ports.js';
import { tellSafely, type StoreFailures } from './store-failures.js';

export interface LeaseDeps {
  readonly store: Pick<Store, 'acquire' | 'heartbeat'>;
  readonly cache: RunCache;
  readonly failures: StoreFailures;
  readonly hooks: EngineHooks;
}

/** One call about a lease, and who waits for its answer. */
export interface LeaseWork<C, A> {
  readonly call: C;
  settle(answer: A | EngineError): void;
}

export type AcquireWork = LeaseWork<AcquireLease, AcquireAnswer>;
export type HeartbeatWork = LeaseWork<HeartbeatCall, HeartbeatAnswer>;

/**
 * Acquires and heartbeats: set-based, on task rows alone, without run lock or version (R9). Within a statement each
 * row is named once: what names it again goes to the next one, and finds what the first left.
 */
export class LeasePass {
  constructor(private readonly deps: LeaseDeps) {}

  async acquire(works: readonly AcquireWork[]): Promise<void> {
    for (const group of distinctTasks(works)) {
      await this.statement(group, (calls) => this.deps.store.acquire(calls), { status: 'RETRY' });
    }
  }

  async heartbeat(works: readonly HeartbeatWork[]): Promise<void> {
    for (const group of distinctTasks(works)) {
      await this.statement(group, (calls) => this.deps.store.heartbeat(calls), { status: 'RETRY' });
    }
  }

  private async statement<C extends TaskCall, A extends { readonly status: string }>(
    works: readonly LeaseWork<C, A>[],
    run: (calls: readonly C[]) => Promise<readonly A[]>,
    retry: A,
  ): Promise<void> {
    let answers: readonly A[];
    try {
      answers = await run(works.map((work) => work.call));
    } catch (error) {
      const kind = this.deps.failures.tell(error);
      if (kind === 'data' && works.length > 1) {
        const middle = Math.ceil(works.length / 2);
        await this.statement(works.slice(0, middle), run, retry);
        await this.statement(works.slice(middle), run, retry);
      } else if (kind === 'data') {
        const refused = new EngineError('invalid', 'CONTENT_REJECTED', 'this cannot be stored', { cause: error });
        works[0]?.settle(refused);
      } else {
        // R10: the worker asks again and does not commit its offset.
        for (const work of works) work.settle(retry);
      }
      return;
    }
    this.tell(works, answers);
    works.forEach((work, index) => work.settle(answers[index] ?? retry));
  }

  private tell<C extends TaskCall, A extends { readonly status: string }>(
    works: readonly LeaseWork<C, A>[],
    answers: readonly (A & { readonly leaseId?: string; readonly attempt?: number })[],
  ): void {
    let isAcquire = false;
    works.forEach(({ call }, index) => {
      isAcquire ||= 'callId' in call;
      const answer = answers[index];
      if (answer?.status !== 'GRANTED' || answer.leaseId === undefined || answer.attempt === undefined) return;
      const lease = { attempt: answer.attempt, leaseId: answer.leaseId };
      this.deps.cache.rememberLease(call.runId, call.taskId, lease);
    });
    const { onLeases } = this.deps.hooks;
    if (onLeases === undefined) return;
    const statuses = answers.map((answer) => answer.status);
    tellSafely(() => onLeases({ call: isAcquire ? 'acquire' : 'heartbeat', answers: statuses }));
  }
}

interface TaskCall {
  readonly runId: string;
  readonly taskId: string;
}

function distinctTasks<C extends TaskCall, A>(works: readonly LeaseWork<C, A>[]): LeaseWork<C, A>[][] {
  const groups: LeaseWork<C, A>[][] = [];
  const seen = new Map<string, number>();
  for (const work of works) {
    const key = `${work.call.runId}/${work.call.taskId}`;
    const turn = seen.get(key) ?? 0;
    seen.set(key, turn + 1);
    (groups[turn] ??= []).push(work);
  }
  return groups;
}
