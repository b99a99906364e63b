-- Compared by the database clock (R27).
SELECT t.run_id, t.task_id, t.lease_id, t.lease_owner,
  t.lease_id IS NOT NULL AND t.lease_expires_at <= c.now AS lease_expired,
  t.lease_id IS NOT NULL AND coalesce(t.start_to_close_at <= c.now, false) AS start_to_close_passed,
  t.status = 'SCHEDULED' AND t.lease_id IS NULL AND coalesce(t.schedule_to_start_at <= c.now, false)
    AS schedule_to_start_passed,
  coalesce(t.schedule_to_close_at <= c.now, false) AS schedule_to_close_passed,
  t.status = 'SCHEDULED' AND t.lease_id IS NULL AND coalesce(t.redispatch_at <= c.now, false) AS redispatch_due,
  t.status = 'BACKOFF' AND coalesce(t.backoff_until <= c.now, false) AS backoff_over,
  t.cut_off AND coalesce(t.cut_off_until <= c.now, false) AS cut_off_over
FROM (SELECT baton.now() AS now OFFSET 0) c
CROSS JOIN (
  SELECT
    unnest(:tasks.runId::uuid[]) AS run_id,
    unnest(:tasks.namespace::text[]) AS namespace,
    unnest(:tasks.taskId::uuid[]) AS task_id
) asked
CROSS JOIN LATERAL (
  SELECT t.run_id, t.task_id, t.status, t.lease_id, t.lease_owner, t.lease_expires_at, t.start_to_close_at,
    t.schedule_to_start_at, t.schedule_to_close_at, t.redispatch_at, t.backoff_until, t.cut_off, t.cut_off_until
  FROM baton.task_instances t
  WHERE t.run_id = asked.run_id AND t.task_id = asked.task_id AND t.namespace = asked.namespace
