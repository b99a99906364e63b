SELECT a.run_id, t.kind, t.node_id, t.generation, t.failures, t.overdue_ms
FROM unnest($1::uuid[]) AS a(run_id)
CROSS JOIN LATERAL (
  SELECT t.kind, t.node_id, t.generation, t.failures,
    (extract(epoch FROM (SELECT baton.now()) - t.due_at) * 1000)::bigint AS overdue_ms
  FROM baton.timers t
  WHERE t.run_id = ANY (ARRAY[a.run_id])
  OFFSET 0
) t
