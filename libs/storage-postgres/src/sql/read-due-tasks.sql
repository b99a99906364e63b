-- R22: without locks, oldest first. The second part tells when the next one comes.
(
  SELECT t.namespace, t.run_id, t.task_id, t.attempt,
    (extract(epoch FROM t.wake_at - (SELECT baton.now())) * 1000)::bigint AS due_in_ms
  FROM baton.task_instances t
  WHERE t.wake_at <= (SELECT baton.now())
  ORDER BY t.wake_at
  LIMIT :limit::integer
)
UNION ALL
(
  SELECT NULL, NULL, NULL, NULL,
    ceil(extract(epoch FROM t.wake_at - (SELECT baton.now())) * 1000)::bigint
  FROM baton.task_instances t
  WHERE t.wake_at > (SELECT baton.now())
  ORDER BY t.wake_at
  LIMIT 1
)
