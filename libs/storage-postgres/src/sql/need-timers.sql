SELECT t.run_id, t.timer_id, t.kind, t.node_id, t.generation, t.due_at <= c.now AS due
FROM (SELECT baton.now() AS now OFFSET 0) c
CROSS JOIN (
  SELECT
    unnest(:timers.runId::uuid[]) AS run_id,
    unnest(:timers.namespace::text[]) AS namespace,
    unnest(:timers.timerId::uuid[]) AS timer_id
) asked
CROSS JOIN LATERAL (
  SELECT t.run_id, t.timer_id, t.kind, t.node_id, t.generation, t.due_at
  FROM baton.timers t
  WHERE t.timer_id = ANY (ARRAY[asked.timer_id]) AND t.run_id = asked.run_id AND t.namespace = asked.namespace
) t
