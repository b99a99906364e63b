-- R6: waits for the backend that may still be committing, then tells which batch wrote the run last.
SELECT r.run_id, r.last_commit
FROM (
  SELECT unnest(:runs.runId::uuid[]) AS run_id, unnest(:runs.namespace::text[]) AS namespace
) asked
CROSS JOIN LATERAL (
  SELECT r.run_id, r.last_commit
  FROM baton.workflow_runs r
  WHERE r.run_id = asked.run_id AND r.namespace = asked.namespace
  FOR NO KEY UPDATE
) r
