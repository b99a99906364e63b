import type { Collector } from './collector.js';
import type { Session } from './session.js';

const MOST_ROWS = 100;

/** R25: a row in a DEFAULT partition had no home: partitions are not made ahead any more, or an id lies. */
export async function examinePartitions(
  session: Session,
  collector: Collector,
  namespace: string | undefined,
): Promise<void> {
  const rows = await session.rows<{ relation: string; run_id: string; namespace: string }>(
    'rows-in-default-partitions',
    [MOST_ROWS],
  );
  const runs = new Map<string, { readonly namespace: string; readonly relations: Set<string> }>();
  for (const row of rows) {
    if (namespace !== undefined && row.namespace !== namespace) continue;
    const run = runs.get(row.run_id) ?? { namespace: row.namespace, relations: new Set() };
    run.relations.add(row.relation);
    runs.set(row.run_id, run);
  }
  for (const [runId, run] of runs) {
    const message = `rows in the DEFAULT partition of ${[...run.relations].join(', ')}`;
    collector.add({ invariant: 'R25', code: 'ROW_IN_DEFAULT_PARTITION', message, namespace: run.namespace, runId });
  }
}
