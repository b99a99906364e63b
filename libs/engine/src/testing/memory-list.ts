import type { ListRuns, RunPage, RunView } from '../api.js';

/** A page of runs as the database gives it: newest first, the cursor is the last run id. */
export function pageOfRuns(runs: readonly RunView[], query: ListRuns): RunPage {
  const { namespace, definitionId, definitionVersion, statuses, businessKey, cursor } = query;
  const found = runs.filter(
    (run) =>
      run.namespace === namespace &&
      (definitionId === undefined || run.definitionId === definitionId) &&
      (definitionVersion === undefined || run.definitionVersion === definitionVersion) &&
      (statuses === undefined || statuses.includes(run.status)) &&
      (businessKey === undefined || run.businessKey === businessKey) &&
      (cursor === undefined || run.runId < cursor),
  );
  const newest = found.toSorted((a, b) => (a.runId < b.runId ? 1 : -1));
  const page = newest.slice(0, query.pageSize);
  return { runs: page, nextCursor: newest.length > page.length ? (page.at(-1)?.runId ?? null) : null };
}
