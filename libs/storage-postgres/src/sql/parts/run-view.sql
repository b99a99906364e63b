  r.run_id, r.namespace, r.definition_id, r.definition_version, r.status, r.cause, r.undo, r.epoch, r.failure_code,
  r.failure_message, r.failure_node, r.started_at, r.ended_at, p.business_key, r.stuck_reason
