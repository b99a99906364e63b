-- For gauges: how many runs of a namespace have not ended, and what a claim of these queues would find. Each count stops
-- at the limit, so that a scrape costs the same however large a backlog is.
SELECT
  (
    SELECT count(*) FROM (
      SELECT FROM baton.workflow_runs r
      WHERE r.namespace = :namespace::text AND r.namespace <> '' AND r.status = 'RUNNING'
      LIMIT :limit::integer
    ) running
  ) AS running,
  (
    SELECT count(*) FROM (
      SELECT FROM baton.workflow_runs r
      WHERE r.namespace = :namespace::text AND r.namespace <> '' AND r.status = 'COMPENSATING'
      LIMIT :limit::integer
    ) compensating
  ) AS compensating,
  waiting.steps,
  (extract(epoch FROM (SELECT baton.now()) - waiting.oldest) * 1000)::bigint AS oldest_ms
FROM (
  SELECT count(*) AS steps, min(t.dispatched_at) AS oldest
  FROM (SELECT unnest(:queues::text[]) AS queue) q
  CROSS JOIN LATERAL (
    SELECT t.dispatched_at
    FROM baton.task_instances t
    WHERE t.namespace = :namespace::text AND t.queue = q.queue
      AND t.route = 'local' AND t.status = 'SCHEDULED' AND t.lease_id IS NULL AND NOT t.cut_off
    ORDER BY t.dispatched_at
    LIMIT :limit::integer
  ) t
) waiting
