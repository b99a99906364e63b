-- The write of a batch that touches runs, tasks, journal and outbox alone: almost every one (ADR 0001).
-- Answers which runs it held, by position.
WITH
-- include parts/hold-runs.sql
,
-- include parts/insert-tasks.sql
,
-- include parts/update-tasks.sql
,
-- include parts/insert-journal.sql
,
-- include parts/insert-outbox.sql
-- R1: what was fenced must have been found. The names are looked for only when something is missing.
SELECT h.flags::text AS flags
FROM held h
WHERE CASE
  WHEN (SELECT count(*) FROM updated_runs) = h.runs AND (SELECT count(*) FROM updated_tasks) = h.fenced_rows THEN true
  ELSE baton.raise_fence_miss(coalesce((
    SELECT string_agg(DISTINCT u.run_id::text, ',')
    FROM task_updates u
    WHERE h.flags[u.ord] AND u.n NOT IN (SELECT n FROM updated_tasks)
  ), ''))
END
