-- A page by run id, newest first. `namespace <> ''` opens the list's index (see the migration).
SELECT
-- include parts/run-view.sql
FROM (
  SELECT r.run_id, r.namespace, r.definition_id, r.definition_version, r.status, r.cause, r.undo, r.epoch,
    r.failure_code, r.failure_message, r.failure_node, r.started_at, r.ended_at, r.stuck_reason
  FROM baton.workflow_runs r
  WHERE r.namespace = :namespace::text AND r.namespace <> '' AND r.run_id < :before::uuid
    AND (:definitionId::text IS NULL OR r.definition_id = :definitionId::text)
    AND (:definitionVersion::integer IS NULL OR r.definition_version = :definitionVersion::integer)
  ORDER BY r.run_id DESC
  LIMIT :limit::integer
) r
LEFT JOIN LATERAL (
  SELECT p.business_key FROM baton.run_payloads p WHERE p.run_id = ANY (ARRAY[r.run_id]) OFFSET 0
) p ON true
ORDER BY r.run_id DESC
