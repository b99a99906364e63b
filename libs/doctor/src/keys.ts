import { readBounds } from './bounds.js';
import type { Collector } from './collector.js';
import type { Session } from './session.js';

/** A row of page-of-keys.sql. */
interface KeyRow {
  readonly namespace: string;
  readonly kind: string;
  readonly key: string;
  readonly run_id: string;
  readonly expired: boolean;
  readonly present: boolean;
  readonly idempotency_key: string | null;
  readonly business_key: string | null;
  readonly definition_id: string | null;
}

const PAGE = 1_000;

/** I11, from the side of the keys: each names a run that exists, and that was started with it. */
export async function walkKeys(session: Session, collector: Collector, namespace: string | undefined): Promise<void> {
  let after: readonly [string, string, string] | undefined = [namespace ?? '', '', ''];
  while (after !== undefined) {
    const from: readonly [string, string, string] = after;
    after = await session.snapshot(async (reader) => {
      const bounds = await readBounds(reader);
      const rows = await reader.rows<KeyRow>('page-of-keys', [...from, PAGE]);
      for (const row of rows) {
        if (namespace !== undefined && row.namespace !== namespace) return undefined;
        collector.examined.keys += 1;
        // A run whose partition is gone has left its keys behind: the next start with them takes them.
        if (row.expired || (!row.present && row.run_id < bounds.runs)) continue;
        judgeKey(row, collector);
      }
      collector.progress('keys', collector.examined.keys);
      const last = rows.at(-1);
      return last === undefined || rows.length < PAGE ? undefined : [last.namespace, last.kind, last.key];
    });
  }
}

function judgeKey(row: KeyRow, collector: Collector): void {
  const { namespace, kind, key, run_id: runId } = row;
  const about = { invariant: 'I11', namespace, runId } as const;
  if (!row.present) {
    collector.add({ ...about, code: 'KEY_WITHOUT_RUN', message: `${kind} key ${key} names a run that does not exist` });
  } else if (!isOwn(row)) {
    const message = `${kind} key ${key} names a run that was not started with it`;
    collector.add({ ...about, code: 'KEY_OF_ANOTHER_RUN', message });
  }
}

function isOwn(row: KeyRow): boolean {
  if (row.kind === 'idempotency') return row.idempotency_key === row.key;
  if (row.kind === 'run-id') return row.run_id === row.key;
  if (!row.kind.startsWith('business:')) return true;
  return row.business_key === row.key && row.kind === `business:${row.definition_id ?? ''}`;
}
