SELECT r.run_id, r.status
FROM (
  SELECT unnest(:runs.runId::uuid[]) AS run_id, unnest(:runs.namespace::text[]) AS namespace
) asked
CROSS JOIN LATERAL (
  SELECT r.run_id, r.status
  FROM baton.workflow_runs r
  WHERE r.run_id = ANY (ARRAY[asked.run_id]) AND r.namespace = asked.namespace
) r
