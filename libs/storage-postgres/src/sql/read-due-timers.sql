(
  SELECT t.namespace, t.run_id, t.timer_id,
    (extract(epoch FROM t.due_at - (SELECT baton.now())) * 1000)::bigint AS due_in_ms
  FROM baton.timers t
  WHERE t.due_at <= (SELECT baton.now())
  ORDER BY t.due_at
  LIMIT :limit::integer
)
UNION ALL
(
  SELECT NULL, NULL, NULL,
    ceil(extract(epoch FROM t.due_at - (SELECT baton.now())) * 1000)::bigint
  FROM baton.timers t
  WHERE t.due_at > (SELECT baton.now())
  ORDER BY t.due_at
  LIMIT 1
)
