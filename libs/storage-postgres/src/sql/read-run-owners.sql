-- Of any namespace: a run id that a caller chose must not exist at all.
SELECT r.run_id, r.status
FROM (SELECT unnest(:runIds::uuid[]) AS run_id) asked
CROSS JOIN LATERAL (
  SELECT r.run_id, r.status
  FROM baton.workflow_runs r
  WHERE r.run_id = ANY (ARRAY[asked.run_id])
) r
