import { readBounds } from '../bounds.js';
import type { Collector } from '../collector.js';
import { Definitions } from '../definitions.js';
import type { Session } from '../session.js';
import { judgeRun } from './judge.js';
import { loadPage, shorten, type RunRow } from './page.js';

export interface RunWalk {
  readonly session: Session;
  readonly collector: Collector;
  readonly namespace: string | undefined;
  readonly pageSize: number;
  readonly overdueMs: number;
}

const FIRST = '00000000-0000-0000-0000-000000000000';

/** Every run, by pages in the order of their ids; each page is one snapshot. A run that starts meanwhile is met or not. */
export async function walkRuns({ session, collector, namespace, pageSize, overdueMs }: RunWalk): Promise<void> {
  const definitions = new Definitions();
  let after: string | undefined = FIRST;
  while (after !== undefined) {
    const from: string = after;
    after = await session.snapshot(async (reader) => {
      const rows: readonly RunRow[] =
        namespace === undefined
          ? await reader.rows<RunRow>('page-of-runs', [from, pageSize])
          : await reader.rows<RunRow>('page-of-runs-of-namespace', [from, pageSize, namespace]);
      const page = shorten(rows);
      const bounds = await readBounds(reader);
      for (const view of await loadPage({ reader, definitions, collector, bounds }, page)) {
        judgeRun(view, { collector, bounds, overdueMs });
      }
      collector.progress('runs', collector.examined.runs);
      return page.length === rows.length && rows.length < pageSize ? undefined : page.at(-1)?.run_id;
    });
  }
}
