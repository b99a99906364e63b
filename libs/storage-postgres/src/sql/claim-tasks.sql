-- What the embedded runtime takes when it has free slots: tasks of route local alone, of the definition versions that it
-- knows (R29), queue by queue and then the oldest of them. On task rows alone, without the run's lock or version (R9); a
-- row that somebody else has locked is left to them. The same call again gets what it got, and no more (R10).
WITH
clock AS MATERIALIZED (SELECT baton.now() AS now),
same AS MATERIALIZED (
  SELECT t.run_id, t.task_id, r.definition_id, r.definition_version, r.epoch, r.traceparent, t.dispatched_at
  FROM clock c
  CROSS JOIN baton.task_instances t
  CROSS JOIN LATERAL (
    SELECT r.definition_id, r.definition_version, r.epoch, r.traceparent
    FROM baton.workflow_runs r
    WHERE r.run_id = ANY (ARRAY[t.run_id]) AND r.ended_at IS NULL
  ) r
  WHERE t.route = 'local' AND t.lease_call = :callId::text AND t.lease_call IS NOT NULL
    AND t.namespace = :namespace::text AND t.lease_owner = :owner::text
    AND t.status = 'SCHEDULED' AND NOT t.cut_off AND t.lease_expires_at > c.now
),
queues AS MATERIALIZED (
  SELECT d.queue, array_agg(d.id || '@' || d.version) AS versions
  FROM (
    SELECT
      unnest(:definitions.id::text[]) AS id,
      unnest(:definitions.version::integer[]) AS version,
      unnest(:definitions.queue::text[]) AS queue
  ) d
  WHERE NOT EXISTS (SELECT FROM same)
  GROUP BY d.queue
),
free AS MATERIALIZED (
  SELECT f.run_id, f.task_id, f.definition_id, f.definition_version, f.epoch, f.traceparent, f.dispatched_at, f.ttl_ms
  FROM queues q
  CROSS JOIN LATERAL (
    SELECT t.run_id, t.task_id, r.definition_id, r.definition_version, r.epoch, r.traceparent, t.dispatched_at,
      coalesce(least(nullif(:ttlMs::bigint, 0), t.heartbeat_ms), 30000) AS ttl_ms
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
    FOR NO KEY UPDATE OF t SKIP LOCKED
  ) f
),
chosen AS MATERIALIZED (
  SELECT f.run_id, f.task_id, f.ttl_ms FROM free f ORDER BY f.dispatched_at LIMIT :limit::integer
),
granted AS (
  UPDATE baton.task_instances t SET
    lease_id = gen_random_uuid(),
    lease_owner = :owner::text,
    lease_call = :callId::text,
    leased_at = c.now,
    lease_expires_at = c.now + a.ttl_ms * interval '1 millisecond',
    -- R14: counts from GRANTED.
    start_to_close_at = c.now + t.start_to_close_ms * interval '1 millisecond',
    wake_at = least(c.now + a.ttl_ms * interval '1 millisecond',
      c.now + t.start_to_close_ms * interval '1 millisecond', t.schedule_to_close_at)
  FROM clock c, chosen a
  WHERE t.run_id = ANY (ARRAY[a.run_id])
    AND t.task_id = a.task_id
  RETURNING t.run_id, t.task_id, t.node_id, t.item, t.kind, t.generation, t.attempt, t.failures, t.queue, t.handler,
    t.lease_id, a.ttl_ms, t.start_to_close_ms, t.input, t.progress
)
SELECT g.run_id, g.task_id, g.node_id, g.item, g.kind, g.generation, g.attempt, g.failures, g.queue, g.handler,
  f.definition_id, f.definition_version, f.epoch, f.traceparent, g.lease_id, g.ttl_ms, g.start_to_close_ms, g.input,
  g.progress, f.dispatched_at
FROM granted g JOIN free f ON f.run_id = g.run_id AND f.task_id = g.task_id
UNION ALL
SELECT t.run_id, t.task_id, t.node_id, t.item, t.kind, t.generation, t.attempt, t.failures, t.queue, t.handler,
  s.definition_id, s.definition_version, s.epoch, s.traceparent, t.lease_id,
  (extract(epoch FROM t.lease_expires_at - c.now) * 1000)::bigint, t.start_to_close_ms, t.input, t.progress,
  s.dispatched_at
FROM clock c
CROSS JOIN same s
CROSS JOIN LATERAL (
  SELECT t.*
  FROM baton.task_instances t
  WHERE t.run_id = ANY (ARRAY[s.run_id]) AND t.task_id = s.task_id
) t
ORDER BY dispatched_at
LIMIT :limit::integer
