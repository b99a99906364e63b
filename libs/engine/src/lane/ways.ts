import type { EngineOptions } from '../options.js';
import type { Store } from '../ports.js';
import type { Work } from './work.js';

export type Way = 'optimistic' | 'lock-first';

type Transactions = NonNullable<EngineOptions['transactions']>;

/**
 * Which events of a batch go lock first.
 *
 * `allowed`: those that ask for leases for sure (R9), and commands that lock a business key (R24).
 * `single-statement` (R30): only commands on a run that has a business key. They must hold the key while they decide:
 * another run may take it over at any moment, and nothing of this run would change by that.
 */
export class Ways {
  private constructor(
    private readonly transactions: Transactions,
    private readonly keyed: ReadonlySet<Work>,
  ) {}

  static async of(works: readonly Work[], store: Pick<Store, 'getRun'>, transactions: Transactions): Promise<Ways> {
    if (transactions === 'allowed') return new Ways(transactions, new Set());
    const asking = works.filter((work) => work.keysFirst);
    const answers = await Promise.all(asking.map((work) => mayHaveKey(work, store)));
    return new Ways(transactions, new Set(asking.filter((_work, index) => answers[index])));
  }

  get isSingleStatement(): boolean {
    return this.transactions === 'single-statement';
  }

  locks(work: Work): boolean {
    return this.isSingleStatement ? this.keyed.has(work) : work.way === 'lock-first';
  }
}

/** A run's key never changes. If the store cannot say now, it will not be able to lock either: the caller hears that. */
async function mayHaveKey({ namespace, runId }: Work, store: Pick<Store, 'getRun'>): Promise<boolean> {
  try {
    const details = await store.getRun(namespace, runId, false);
    return details !== undefined && details.run.businessKey !== null;
  } catch {
    return true;
  }
}
