-- R9, R10: on task rows alone, without the run's lock or version. A row that somebody else has locked is skipped and
-- answered RETRY. Every answer is told apart here, in one statement. At most one call a task in one statement.
WITH
clock AS MATERIALIZED (SELECT baton.now() AS now),
asked AS MATERIALIZED (
  SELECT
    unnest(:calls.ord::integer[]) AS ord,
    unnest(:calls.runId::uuid[]) AS run_id,
    unnest(:calls.taskId::uuid[]) AS task_id,
    unnest(:calls.namespace::text[]) AS namespace,
    unnest(:calls.attempt::integer[]) AS attempt,
    unnest(:calls.owner::text[]) AS owner,
    unnest(:calls.callId::text[]) AS call_id,
    unnest(:calls.ttlMs::bigint[]) AS ttl_ms,
    unnest(:calls.wantInput::boolean[]) AS want_input
),
locked AS MATERIALIZED (
  SELECT a.ord, a.run_id, a.task_id, a.owner, a.call_id, a.want_input,
    coalesce(a.attempt, t.attempt) AS asked_attempt,
    coalesce(least(nullif(a.ttl_ms, 0), t.heartbeat_ms), 30000) AS ttl_ms,
    t.attempt, t.status, t.cut_off, t.lease_id, t.lease_owner, t.lease_call, t.lease_expires_at, t.start_to_close_ms,
    t.progress, CASE WHEN a.want_input THEN t.input END AS input,
    -- A run that has ended grants nothing, whatever its rows say.
    r.open
  FROM asked a
  CROSS JOIN LATERAL (
    SELECT t.attempt, t.status, t.cut_off, t.lease_id, t.lease_owner, t.lease_call, t.lease_expires_at,
      t.start_to_close_ms, t.heartbeat_ms, t.progress, t.input
    FROM baton.task_instances t
    WHERE t.run_id = a.run_id AND t.task_id = a.task_id AND t.namespace = a.namespace
    FOR NO KEY UPDATE SKIP LOCKED
  ) t
  CROSS JOIN LATERAL (
    SELECT r.ended_at IS NULL AS open
    FROM baton.workflow_runs r
    WHERE r.run_id = ANY (ARRAY[a.run_id])
  ) r
),
answered AS MATERIALIZED (
  SELECT l.ord, l.run_id, l.task_id, l.owner, l.call_id, l.ttl_ms, l.attempt, l.lease_id, l.lease_expires_at,
    l.start_to_close_ms, l.progress, l.input,
    CASE
      WHEN NOT l.open THEN 'STALE'
      WHEN l.asked_attempt > l.attempt THEN 'NOT_YET'
      WHEN l.asked_attempt < l.attempt THEN 'STALE'
      WHEN l.status IN ('PLANNED', 'HELD') THEN 'NOT_YET'
      WHEN l.status <> 'SCHEDULED' OR l.cut_off THEN 'STALE'
      WHEN l.lease_id IS NULL THEN 'GRANTED'
      -- The answer to this very call was lost: the same lease again. An expired one never (R9).
      WHEN l.lease_owner = l.owner AND l.lease_call = l.call_id AND l.lease_expires_at > c.now THEN 'SAME'
      ELSE 'HELD' END AS answer
  FROM clock c, locked l
),
granted AS (
  UPDATE baton.task_instances t SET
    lease_id = gen_random_uuid(),
    lease_owner = a.owner,
    lease_call = a.call_id,
    leased_at = c.now,
    lease_expires_at = c.now + a.ttl_ms * interval '1 millisecond',
    -- R14: counts from GRANTED.
    start_to_close_at = c.now + t.start_to_close_ms * interval '1 millisecond',
    wake_at = least(c.now + a.ttl_ms * interval '1 millisecond',
      c.now + t.start_to_close_ms * interval '1 millisecond', t.schedule_to_close_at)
  FROM clock c, answered a
  WHERE a.answer = 'GRANTED'
    AND t.run_id = ANY (ARRAY[a.run_id])
    AND t.task_id = a.task_id
  RETURNING a.ord, t.lease_id
)
SELECT a.ord, CASE a.answer WHEN 'SAME' THEN 'GRANTED' ELSE a.answer END AS answer, a.attempt,
  coalesce(g.lease_id, a.lease_id) AS lease_id,
  CASE WHEN g.lease_id IS NOT NULL THEN a.ttl_ms
    ELSE (extract(epoch FROM a.lease_expires_at - c.now) * 1000)::bigint END AS ttl_ms,
  a.start_to_close_ms, a.progress, a.input
FROM clock c, answered a LEFT JOIN granted g ON g.ord = a.ord
UNION ALL
-- Not locked: there, but in somebody's hands (RETRY), or not there yet.
SELECT a.ord, CASE WHEN t.task_id IS NULL THEN 'NOT_YET' ELSE 'RETRY' END, NULL, NULL, NULL, NULL, NULL, NULL
FROM asked a
LEFT JOIN LATERAL (
  SELECT t.task_id
  FROM baton.task_instances t
  WHERE t.run_id = ANY (ARRAY[a.run_id]) AND t.task_id = a.task_id AND t.namespace = a.namespace
  OFFSET 0
) t ON true
WHERE a.ord NOT IN (SELECT l.ord FROM locked l)
