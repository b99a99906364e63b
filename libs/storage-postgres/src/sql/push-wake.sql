-- The same for a task. It has no count of failures: the longer its own instant is past, the longer the pause, which
-- doubles it each time too.
UPDATE baton.task_instances t SET
  wake_at = c.now + least(greatest(c.now - CASE
    WHEN t.status = 'BACKOFF' THEN least(t.backoff_until, t.schedule_to_close_at)
    WHEN t.cut_off THEN least(t.lease_expires_at, t.cut_off_until)
    WHEN t.lease_id IS NOT NULL THEN least(t.lease_expires_at, t.start_to_close_at, t.schedule_to_close_at)
    ELSE least(t.schedule_to_start_at, t.redispatch_at, t.schedule_to_close_at) END,
    interval '1 second'), interval '5 minutes')
FROM (SELECT baton.now() AS now OFFSET 0) c
WHERE t.run_id = :runId::uuid AND t.task_id = :taskId::uuid AND t.namespace = :namespace::text
  AND t.wake_at IS NOT NULL
