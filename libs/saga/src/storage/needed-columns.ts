/** What the statements of the embedded runtime name, by table; a test holds it against the migrations. */
export const NEEDED_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  deployed_definitions: [...['namespace', 'id', 'version', 'deployed_at']],
  outbox: [
    ...['id', 'aggregatetype', 'aggregateid', 'type', 'payload', 'run_id', 'run_seq', 'topic', 'headers'],
    ...['traceparent', 'shard', 'namespace', 'created_at', 'seq', 'xid'],
  ],
  run_journal: [
    ...['run_id', 'seq', 'namespace', 'epoch', 'kind', 'node_id', 'task_id', 'task_kind', 'attempt', 'code'],
    ...['detail', 'at'],
  ],
  run_keys: [...['namespace', 'kind', 'key', 'run_id', 'request_hash', 'created_at', 'expires_at']],
  run_locks: [...['key', 'token', 'expires_at']],
  run_payloads: [...['run_id', 'namespace', 'input', 'output', 'search_attributes', 'idempotency_key', 'business_key']],
  service_leases: [...['role', 'owner', 'epoch', 'expires_at']],
  signals: [
    ...['run_id', 'signal_id', 'namespace', 'name', 'payload', 'payload_hash', 'status', 'seq'],
    ...['received_at', 'expires_at', 'consumed_by'],
  ],
  subscriber_positions: [...['namespace', 'subscriber', 'cursor', 'stopped_at', 'failure', 'moved_at']],
  task_instances: [
    ...['run_id', 'task_id', 'namespace', 'node_id', 'item', 'kind', 'generation', 'status', 'attempt'],
    ...['failures', 'losses', 'redispatches', 'unknown_outcome', 'cut_off', 'report_hash', 'settled_seq'],
    ...['failure_code', 'failure_message', 'failure_node', 'route', 'queue', 'handler', 'input', 'output'],
    ...['start_to_close_ms', 'heartbeat_ms', 'created_at', 'dispatched_at', 'schedule_to_start_at'],
    ...['redispatch_at', 'schedule_to_close_at', 'backoff_until', 'cut_off_until', 'settled_at', 'wake_at'],
    ...['lease_id', 'lease_owner', 'lease_call', 'leased_at', 'lease_expires_at', 'start_to_close_at'],
    ...['progress', 'wake_failures'],
  ],
  timers: [...['timer_id', 'run_id', 'namespace', 'kind', 'node_id', 'generation', 'due_at', 'failures']],
  workflow_definitions: [...['namespace', 'id', 'version', 'spec', 'content_hash', 'created_at', 'deleted_at']],
  workflow_runs: [
    ...['run_id', 'namespace', 'definition_id', 'definition_version', 'route', 'status', 'cause', 'undo'],
    ...['epoch', 'version', 'journal_seq', 'outbox_seq', 'buffered_signals', 'last_commit', 'root_run_id'],
    ...['parent_run_id', 'traceparent', 'failure_code', 'failure_message', 'failure_node', 'stuck_reason'],
    ...['started_at', 'ended_at'],
  ],
};

/** Of the platform alone. */
export const TABLES_OF_THE_PLATFORM: readonly string[] = [
  ...['outbox_dead', 'outbox_parked', 'relay_state', 'run_inbox'],
];
