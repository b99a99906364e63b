import { FenceMissError, StoreError, type LockedSession, type RunWrite, type Store } from '../ports.js';
import type { RunTurn } from './run-turn.js';
import type { StoreFailures } from './store-failures.js';

export interface Written {
  readonly held: ReadonlySet<string>;
  readonly fenced: ReadonlySet<string>;
  /** The answer to the COMMIT was lost (R6). */
  readonly unsure: boolean;
}

const nothingHeld: Written = { held: new Set(), fenced: new Set(), unsure: false };

interface WriteDeps {
  readonly store: Pick<Store, 'write'>;
  readonly failures: StoreFailures;
  readonly newId: () => string;
}

/** R1: runs whose fences miss are named; nothing stays, and the others are written without them. */
export async function writeRuns(writes: readonly RunWrite[], deps: WriteDeps): Promise<Written> {
  if (writes.length === 0) return nothingHeld;
  const batchId = deps.newId();
  const fenced = new Set<string>();
  let rest = writes;
  while (rest.length > 0) {
    try {
      const { held } = await deps.store.write({ batchId, runs: rest });
      return { held, fenced, unsure: false };
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'unknown-commit') {
        deps.failures.tell(error);
        return { held: await deps.failures.committed(batchId, rest), fenced, unsure: true };
      }
      if (!(error instanceof FenceMissError)) throw error;
      deps.failures.tell(error);
      const before = rest.length;
      for (const runId of error.runIds) fenced.add(runId);
      rest = rest.filter((write) => !fenced.has(write.runId));
      if (rest.length === before) throw error;
    }
  }
  return { held: nothingHeld.held, fenced, unsure: false };
}

export function writesOf(turns: readonly RunTurn[]): RunWrite[] {
  const writes: RunWrite[] = [];
  for (const turn of turns) {
    if (turn.fold !== null && turn.hasWrite) writes.push(turn.fold.toWrite());
  }
  return writes;
}

/** R24: a retried run takes its business key back from the run that had taken it over and has ended since. */
export async function takeKeys(turns: readonly RunTurn[], session: LockedSession): Promise<void> {
  const reopened = turns.filter(
    ({ keyHolder, fold, seen }) =>
      keyHolder !== undefined && fold !== null && seen !== null && fold.state.epoch > seen.state.epoch,
  );
  if (reopened.length > 0) await session.takeKeys(reopened.map((turn) => turn.queue));
}
