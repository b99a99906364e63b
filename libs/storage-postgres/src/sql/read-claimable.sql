-- What a claim would find now, without taking it: for a leader lock that comes before the lease. Without locks; whether a
-- task is still to be had is told by the acquire that follows.
WITH
queues AS MATERIALIZED (
  SELECT d.queue, array_agg(d.id || '@' || d.version) AS versions
  FROM (
    SELECT
      unnest(:definitions.id::text[]) AS id,
      unnest(:definitions.version::integer[]) AS version,
      unnest(:definitions.queue::text[]) AS queue
  ) d
  GROUP BY d.queue
)
SELECT f.run_id, f.task_id, f.node_id, f.item, f.kind, f.generation, f.attempt, f.failures, f.queue, f.handler,
  f.definition_id, f.definition_version, f.epoch, f.traceparent
FROM queues q
CROSS JOIN LATERAL (
  SELECT t.run_id, t.task_id, t.node_id, t.item, t.kind, t.generation, t.attempt, t.failures, t.queue, t.handler,
    r.definition_id, r.definition_version, r.epoch, r.traceparent, t.dispatched_at
  FROM baton.task_instances t
  CROSS JOIN LATERAL (
    SELECT r.definition_id, r.definition_version, r.epoch, r.traceparent
    FROM baton.workflow_runs r
    WHERE r.run_id = ANY (ARRAY[t.run_id]) AND r.ended_at IS NULL
      AND r.definition_id || '@' || r.definition_version = ANY (q.versions)
  ) r
  WHERE t.namespace = :namespace::text AND t.queue = q.queue
    AND t.route = 'local' AND t.status = 'SCHEDULED' AND t.lease_id IS NULL AND NOT t.cut_off
  ORDER BY t.dispatched_at
  LIMIT :limit::integer
) f
ORDER BY f.dispatched_at
LIMIT :limit::integer
