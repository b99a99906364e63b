-- Runs with all their task rows, of one snapshot (ADR 0001). Tasks come as JSON arrays: one value a run instead of one row
-- a task is several times cheaper on both sides. No payloads.
SELECT r.run_id, r.definition_id, r.definition_version, r.route, r.status, r.cause, r.undo, r.epoch, r.version,
  r.journal_seq, r.outbox_seq, r.buffered_signals, r.failure_code, r.failure_message, r.failure_node, r.traceparent,
  t.tasks
FROM (
  SELECT unnest(:runs.runId::uuid[]) AS run_id, unnest(:runs.namespace::text[]) AS namespace
) asked
CROSS JOIN LATERAL (
  SELECT r.run_id, r.definition_id, r.definition_version, r.route, r.status, r.cause, r.undo, r.epoch, r.version,
    r.journal_seq, r.outbox_seq, r.buffered_signals, r.failure_code, r.failure_message, r.failure_node, r.traceparent
  FROM baton.workflow_runs r
  WHERE r.run_id = ANY (ARRAY[asked.run_id]) AND r.namespace = asked.namespace
  OFFSET 0
) r
CROSS JOIN LATERAL (
  SELECT json_agg(json_build_array(t.task_id, t.node_id, t.item, t.kind, t.generation, t.status, t.attempt, t.failures,
    t.losses, t.redispatches, t.unknown_outcome, t.cut_off, t.report_hash, t.settled_seq, t.failure_code,
    t.failure_message, t.failure_node, t.lease_id) ORDER BY t.task_id) AS tasks
  FROM baton.task_instances t
  WHERE t.run_id = ANY (ARRAY[r.run_id])
) t
