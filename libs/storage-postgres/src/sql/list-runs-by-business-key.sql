-- The same, of one business key: few runs have it, so the other filters are tested row by row.
SELECT
-- include parts/run-view.sql
FROM (
  SELECT p.run_id, p.business_key
  FROM baton.run_payloads p
  WHERE p.namespace = :namespace::text AND p.business_key = :businessKey::text AND p.business_key IS NOT NULL
    AND p.run_id < :before::uuid
  ORDER BY p.run_id DESC
) p
CROSS JOIN LATERAL (
  SELECT r.run_id, r.namespace, r.definition_id, r.definition_version, r.status, r.cause, r.undo, r.epoch,
    r.failure_code, r.failure_message, r.failure_node, r.started_at, r.ended_at, r.stuck_reason
  FROM baton.workflow_runs r
  WHERE r.run_id = ANY (ARRAY[p.run_id])
    AND (:definitionId::text IS NULL OR r.definition_id = :definitionId::text)
    AND (:definitionVersion::integer IS NULL OR r.definition_version = :definitionVersion::integer)
    AND (cardinality(:statuses::text[]) = 0 OR r.status = ANY (:statuses::text[]))
  OFFSET 0
) r
ORDER BY r.run_id DESC
LIMIT :limit::integer
