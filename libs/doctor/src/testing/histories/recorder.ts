import { decide, type RunEvent, type RunState } from '@baton/core';
import type { EngineOptions, RunWrite, Store } from '@baton/engine';

type Decide = NonNullable<EngineOptions['decide']>;

/** One event as it was applied: with what it drew, so that it can be applied in the same way again. */
export interface Step {
  readonly event: RunEvent;
  /** Of the definition that it was decided on. */
  readonly version: number;
  readonly ids: readonly string[];
  readonly randoms: readonly number[];
  readonly effect: 'applied' | 'ignored';
  readonly report: string | undefined;
  readonly delivered: boolean | undefined;
  /** Of the run after it. */
  readonly journalSeq: number;
}

/** What one write left of one run: the events that it folded, in order. */
export interface Commit {
  readonly runId: string;
  readonly version: number;
  readonly batchId: string;
  readonly engine: number;
  readonly steps: readonly Step[];
}

/** The commits of all engines, by run and version. I1: each version was written once. */
export class Book {
  private readonly commits = new Map<string, Commit>();

  get size(): number {
    return this.commits.size;
  }

  add(commit: Commit): void {
    const key = `${commit.runId} ${commit.version}`;
    if (this.commits.has(key)) throw new Error(`version ${commit.version} of run ${commit.runId} was written twice`);
    this.commits.set(key, commit);
  }

  of(runId: string, version: number): Commit | undefined {
    return this.commits.get(`${runId} ${version}`);
  }

  all(): IterableIterator<Commit> {
    return this.commits.values();
  }
}

interface Chain {
  readonly root: RunState;
  tail: RunState;
  readonly steps: Step[];
}

/**
 * Watches one engine from its two ports: what it decides, and what of that it writes. States are immutable, so
 * decisions that follow each other in one batch are known by the state that one leaves and the next begins with.
 */
export class Recorder {
  private readonly chains = new Map<string, Chain>();

  constructor(
    private readonly engine: number,
    private readonly book: Book,
  ) {}

  readonly decide: Decide = (dag, run, event, env) => {
    const ids: string[] = [];
    const randoms: number[] = [];
    const decision = decide(dag, run, event, {
      ...env,
      newId: () => kept(ids, env.newId()),
      random: () => kept(randoms, env.random()),
    });
    if (decision.kind === 'needs' || decision.kind === 'refused' || decision.actions.length === 0) return decision;
    const { kind: effect, report, state } = decision;
    const delivered = decision.kind === 'applied' ? decision.signalDelivered : undefined;
    const { journalSeq } = state;
    this.note(run, state, { event, version: dag.version, ids, randoms, effect, report, delivered, journalSeq });
    return decision;
  };

  wrap(store: Store): Store {
    return {
      ...store,
      write: async (batch) => {
        const written = this.commitsOf(batch.batchId, batch.runs);
        const result = await store.write(batch);
        for (const commit of written) if (result.held.has(commit.runId)) this.book.add(commit);
        return result;
      },
      writeStarts: async (batch) => {
        const written = this.commitsOf(
          batch.batchId,
          batch.starts.map(({ write }) => write),
        );
        const result = await store.writeStarts(batch);
        for (const commit of written) if (result.created.has(commit.runId)) this.book.add(commit);
        return result;
      },
      withLockedRuns: async (refs, work, options) => {
        const written: Commit[] = [];
        const result = await store.withLockedRuns(
          refs,
          (session) =>
            work({
              ...session,
              write: async (batch) => {
                written.push(...this.commitsOf(batch.batchId, batch.runs));
                return session.write(batch);
              },
            }),
          options,
        );
        for (const commit of written) this.book.add(commit); // not before the COMMIT
        return result;
      },
    };
  }

  private note(before: RunState, after: RunState, step: Step): void {
    const chain = this.chains.get(before.runId);
    if (chain?.tail === before) {
      chain.steps.push(step);
      chain.tail = after;
    } else {
      this.chains.set(before.runId, { root: before, tail: after, steps: [step] });
    }
  }

  /** A last decision that the fold could not take (R2) has a higher journal seq than the write. */
  private commitsOf(batchId: string, writes: readonly RunWrite[]): Commit[] {
    return writes.map(({ runId, expectedVersion, run }) => {
      const chain = this.chains.get(runId);
      if (chain?.root.version !== expectedVersion) throw new Error(`run ${runId} is written without a decision`);
      const steps = chain.steps.filter((step) => step.journalSeq <= run.journalSeq);
      if (steps.at(-1)?.journalSeq !== run.journalSeq) throw new Error(`run ${runId} is not written as it was decided`);
      return { runId, version: expectedVersion + 1, batchId, engine: this.engine, steps };
    });
  }
}

function kept<T>(list: T[], item: T): T {
  list.push(item);
  return item;
}
