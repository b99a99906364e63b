inserted_timers AS (
  INSERT INTO baton.timers (timer_id, run_id, namespace, kind, node_id, generation, due_at)
  SELECT n.timer_id, n.run_id, n.namespace, n.kind, n.node_id, n.generation,
    CASE WHEN n.from_run_start THEN (SELECT started FROM held)[n.ord] ELSE c.now END
      + n.after_ms * interval '1 millisecond'
  FROM clock c, (
    SELECT
      unnest(:newTimers.ord::integer[]) AS ord,
      unnest(:newTimers.timerId::uuid[]) AS timer_id,
      unnest(:newTimers.runId::uuid[]) AS run_id,
      unnest(:newTimers.namespace::text[]) AS namespace,
      unnest(:newTimers.kind::text[]) AS kind,
      unnest(:newTimers.nodeId::text[]) AS node_id,
      unnest(:newTimers.generation::integer[]) AS generation,
      unnest(:newTimers.afterMs::bigint[]) AS after_ms,
      unnest(:newTimers.fromRunStart::boolean[]) AS from_run_start
  ) n
  WHERE (SELECT flags FROM held)[n.ord]
)
