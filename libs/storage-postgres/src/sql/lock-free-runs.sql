-- The runs of the array, which is sorted by id, that nobody else holds (R7): the others are skipped, never waited for.
SELECT r.run_id, r.writer, r.route
FROM (
  SELECT unnest(:runs.runId::uuid[]) AS run_id, unnest(:runs.namespace::text[]) AS namespace
) asked
CROSS JOIN LATERAL (
  -- The transaction that wrote it last tells who came first (overtaken.ts).
  SELECT r.run_id, r.xmin::text AS writer, r.route
  FROM baton.workflow_runs r
  WHERE r.run_id = asked.run_id AND r.namespace = asked.namespace
  FOR NO KEY UPDATE SKIP LOCKED
) r
