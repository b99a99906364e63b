-- Of these runs: every outbox row that is left, found by the instants of the journal. A run without rows is one row.
SELECT a.run_id, r.namespace, j.at::text AS at, o.id, o.run_seq, o.topic, o.type
FROM unnest($1::uuid[]) AS a(run_id)
LEFT JOIN LATERAL (
  SELECT r.namespace
  FROM baton.workflow_runs r
  WHERE r.run_id = ANY (ARRAY[a.run_id])
  OFFSET 0
) r ON true
LEFT JOIN LATERAL (
  SELECT DISTINCT j.at
  FROM baton.run_journal j
  WHERE j.run_id = ANY (ARRAY[a.run_id])
) j ON true
LEFT JOIN LATERAL (
  SELECT o.id, o.run_seq, o.topic, o.type
  FROM baton.outbox o
  WHERE o.created_at = ANY (ARRAY[j.at]) AND o.run_id = a.run_id
  OFFSET 0
) o ON true
