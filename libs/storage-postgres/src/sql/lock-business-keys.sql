-- R24: the business keys of these runs, locked before the runs. Sorted by key.
SELECT asked.run_id, k.run_id AS holder, k.kind, k.key, k.request_hash
FROM (
  SELECT a.run_id, a.namespace, 'business:' || r.definition_id AS kind, p.business_key
  FROM (
    SELECT unnest(:runs.runId::uuid[]) AS run_id, unnest(:runs.namespace::text[]) AS namespace
  ) a
  CROSS JOIN LATERAL (
    SELECT r.namespace, r.definition_id
    FROM baton.workflow_runs r
    WHERE r.run_id = ANY (ARRAY[a.run_id])
    OFFSET 0
  ) r
  CROSS JOIN LATERAL (
    SELECT p.business_key
    FROM baton.run_payloads p
    WHERE p.run_id = ANY (ARRAY[a.run_id])
    OFFSET 0
  ) p
  WHERE r.namespace = a.namespace AND p.business_key IS NOT NULL
  ORDER BY a.namespace, 3, p.business_key
) asked
CROSS JOIN LATERAL (
  SELECT k.run_id, k.kind, k.key, k.request_hash
  FROM baton.run_keys k
  WHERE k.namespace = asked.namespace AND k.kind = asked.kind AND k.key = asked.business_key
  FOR NO KEY UPDATE
) k
