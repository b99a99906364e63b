-- R21, for the wake-up of a task: later, each time twice as long, at most five minutes. The next decision on the row's
-- wake-up sets the count to 0 again. One row never holds a page.
UPDATE baton.task_instances t SET
  wake_failures = t.wake_failures + 1,
  wake_at = (SELECT baton.now()) + least(power(2, least(t.wake_failures, 20)), 300) * interval '1 second'
WHERE t.run_id = :runId::uuid AND t.task_id = :taskId::uuid AND t.namespace = :namespace::text
  AND t.wake_at IS NOT NULL
RETURNING t.wake_failures
