-- One snapshot of a run for people. A SCHEDULED task with a lease is shown as RUNNING (R9).
SELECT r.run_id, r.namespace, r.definition_id, r.definition_version, r.status, r.cause, r.undo, r.epoch,
  r.failure_code, r.failure_message, r.failure_node, r.started_at, r.ended_at, p.business_key, r.stuck_reason,
  CASE WHEN :withPayloads::boolean THEN p.input END AS input,
  CASE WHEN :withPayloads::boolean THEN p.output END AS output,
  t.tasks, s.signals
FROM baton.workflow_runs r
LEFT JOIN LATERAL (
  SELECT p.business_key, p.input, p.output
  FROM baton.run_payloads p
  WHERE p.run_id = ANY (ARRAY[r.run_id])
  OFFSET 0
) p ON true
CROSS JOIN LATERAL (
  SELECT json_agg(json_build_array(t.task_id, t.node_id, t.item, t.kind, t.generation,
    CASE WHEN t.status = 'SCHEDULED' AND t.lease_id IS NOT NULL THEN 'RUNNING' ELSE t.status END,
    t.attempt, t.failures, t.losses, t.unknown_outcome, t.failure_code, t.failure_message, t.failure_node,
    t.lease_owner, t.created_at, t.settled_at, CASE WHEN :withPayloads::boolean THEN t.input END,
    CASE WHEN :withPayloads::boolean THEN t.output END) ORDER BY t.created_at, t.task_id) AS tasks
  FROM baton.task_instances t
  WHERE t.run_id = ANY (ARRAY[r.run_id])
) t
CROSS JOIN LATERAL (
  SELECT json_agg(json_build_array(s.signal_id, s.name, s.received_at) ORDER BY s.seq, s.signal_id) AS signals
  FROM baton.signals s
  WHERE s.run_id = ANY (ARRAY[r.run_id]) AND s.status = 'BUFFERED'
) s
WHERE r.run_id = :runId::uuid AND r.namespace = :namespace::text
