-- One snapshot of a run for people. A SCHEDULED task with a lease is shown as RUNNING (R9).
SELECT r.run_id, r.namespace, r.definition_id, r.definition_version, r.status, r.cause, r.undo, r.epoch,
  r.failure_code, r.failure_message, r.failure_node, r.started_at, r.ended_at, p.business_key, r.stuck_reason,
  CASE WHEN :withPayloads::boolean THEN p.input END AS input,
  CASE WHEN :withPayloads::boolean THEN p.output END AS output,
  t.tasks, s.signals, :withPayloads::boolean AND NOT w.shown AS left_out
FROM baton.workflow_runs r
LEFT JOIN LATERAL (
  SELECT p.business_key, p.input, p.output
  FROM baton.run_payloads p
  WHERE p.run_id = ANY (ARRAY[r.run_id])
  OFFSET 0
) p ON true
-- Payloads of all tasks together may be more than any process can hold. Their lengths are known without reading them.
CROSS JOIN LATERAL (
  SELECT CASE WHEN :withPayloads::boolean THEN (
    SELECT coalesce(sum(coalesce(octet_length(t.input), 0) + coalesce(octet_length(t.output), 0)), 0) <= 33554432
    FROM baton.task_instances t
    WHERE t.run_id = ANY (ARRAY[r.run_id])
  ) ELSE false END AS shown
  OFFSET 0
) w
CROSS JOIN LATERAL (
  SELECT json_agg(json_build_array(t.task_id, t.node_id, t.item, t.kind, t.generation,
    CASE WHEN t.status = 'SCHEDULED' AND t.lease_id IS NOT NULL THEN 'RUNNING' ELSE t.status END,
    t.attempt, t.failures, t.losses, t.unknown_outcome, t.failure_code, t.failure_message, t.failure_node,
    t.lease_owner, t.created_at, t.settled_at, CASE WHEN w.shown THEN t.input END,
    CASE WHEN w.shown THEN t.output END) ORDER BY t.created_at, t.task_id) AS tasks
  FROM baton.task_instances t
  WHERE t.run_id = ANY (ARRAY[r.run_id])
) t
CROSS JOIN LATERAL (
  SELECT json_agg(json_build_array(s.signal_id, s.name, s.received_at) ORDER BY s.seq, s.signal_id) AS signals
  FROM baton.signals s
  WHERE s.run_id = ANY (ARRAY[r.run_id]) AND s.status = 'BUFFERED'
) s
WHERE r.run_id = :runId::uuid AND r.namespace = :namespace::text
