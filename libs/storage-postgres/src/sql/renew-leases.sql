-- R9, R14: a heartbeat renews a lease that has not expired, at the very instant of its end too (J8). wake_at is not touched
-- (its index neither): the timer that finds the old instant re-arms it (R12). A cut-off task is renewed to the end of its
-- grace at most (R18). At most one call a task in one statement.
WITH
clock AS MATERIALIZED (SELECT baton.now() AS now),
asked AS MATERIALIZED (
  SELECT
    unnest(:calls.ord::integer[]) AS ord,
    unnest(:calls.runId::uuid[]) AS run_id,
    unnest(:calls.taskId::uuid[]) AS task_id,
    unnest(:calls.namespace::text[]) AS namespace,
    unnest(:calls.attempt::integer[]) AS attempt,
    unnest(:calls.leaseId::uuid[]) AS lease_id,
    unnest(:calls.ttlMs::bigint[]) AS ttl_ms,
    unnest(:calls.progress::text[]) AS progress
),
locked AS MATERIALIZED (
  SELECT a.ord, a.run_id, a.task_id, a.progress, t.cut_off,
    coalesce(t.lease_id = a.lease_id AND t.attempt = a.attempt AND t.lease_expires_at >= c.now, false) AS valid,
    CASE WHEN t.cut_off THEN least(c.now + t.ttl_ms * interval '1 millisecond', t.cut_off_until)
      ELSE c.now + t.ttl_ms * interval '1 millisecond' END AS expires_at
  FROM clock c
  CROSS JOIN asked a
  CROSS JOIN LATERAL (
    SELECT t.lease_id, t.attempt, t.lease_expires_at, t.cut_off, t.cut_off_until,
      coalesce(least(nullif(a.ttl_ms, 0), t.heartbeat_ms), 30000) AS ttl_ms
    FROM baton.task_instances t
    WHERE t.run_id = a.run_id AND t.task_id = a.task_id AND t.namespace = a.namespace
    FOR NO KEY UPDATE SKIP LOCKED
  ) t
),
renewed AS (
  UPDATE baton.task_instances t SET
    lease_expires_at = l.expires_at,
    progress = coalesce(l.progress, t.progress)
  FROM locked l
  WHERE l.valid
    AND t.run_id = ANY (ARRAY[l.run_id])
    AND t.task_id = l.task_id
)
SELECT l.ord, CASE WHEN NOT l.valid THEN 'LOST' WHEN l.cut_off THEN 'CANCELLED' ELSE 'OK' END AS answer,
  CASE WHEN l.valid THEN (extract(epoch FROM l.expires_at - c.now) * 1000)::bigint END AS ttl_ms
FROM clock c, locked l
UNION ALL
SELECT a.ord, CASE WHEN t.task_id IS NULL THEN 'LOST' ELSE 'RETRY' END, NULL
FROM asked a
LEFT JOIN LATERAL (
  SELECT t.task_id
  FROM baton.task_instances t
  WHERE t.run_id = ANY (ARRAY[a.run_id]) AND t.task_id = a.task_id AND t.namespace = a.namespace
  OFFSET 0
) t ON true
WHERE a.ord NOT IN (SELECT l.ord FROM locked l)
