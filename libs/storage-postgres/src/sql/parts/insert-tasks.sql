-- Durations come as milliseconds and become instants by the one reading of the clock (R27). A new row has no older
-- instants, so the least of its deadlines is one duration too.
inserted_tasks AS (
  INSERT INTO baton.task_instances (
    run_id, task_id, namespace, node_id, item, kind, generation, status, attempt, failures, losses, redispatches,
    unknown_outcome, cut_off, report_hash, settled_seq, failure_code, failure_message, failure_node, route, queue,
    handler, input, output, start_to_close_ms, heartbeat_ms, created_at, dispatched_at, schedule_to_start_at,
    redispatch_at, schedule_to_close_at, backoff_until, settled_at, wake_at, lease_id, lease_owner, leased_at,
    lease_expires_at, start_to_close_at
  )
  SELECT
    i.run_id, i.task_id, i.namespace, i.node_id, i.item, i.kind, i.generation, i.status, i.attempt, i.failures,
    i.losses, i.redispatches, i.unknown_outcome, i.cut_off, i.report_hash, i.settled_seq, i.failure_code,
    i.failure_message, i.failure_node,
    CASE WHEN (SELECT local FROM held)[i.ord] THEN 'local' ELSE 'kafka' END, i.queue, i.handler, i.input, i.output, i.start_to_close_ms,
    i.heartbeat_ms, c.now,
    CASE WHEN i.dispatched THEN c.now END,
    c.now + i.schedule_to_start_ms * interval '1 millisecond',
    c.now + i.redispatch_ms * interval '1 millisecond',
    c.now + i.schedule_to_close_ms * interval '1 millisecond',
    c.now + i.backoff_ms * interval '1 millisecond',
    CASE WHEN i.settled THEN c.now END,
    c.now + i.wake_ms * interval '1 millisecond',
    i.lease_id, i.lease_owner,
    CASE WHEN i.lease_id IS NOT NULL THEN c.now END,
    c.now + i.lease_ttl_ms * interval '1 millisecond',
    CASE WHEN i.lease_id IS NOT NULL THEN c.now + i.start_to_close_ms * interval '1 millisecond' END
  FROM clock c, (
    SELECT
      unnest(:newTasks.ord::integer[]) AS ord,
      unnest(:newTasks.runId::uuid[]) AS run_id,
      unnest(:newTasks.taskId::uuid[]) AS task_id,
      unnest(:newTasks.namespace::text[]) AS namespace,
      unnest(:newTasks.nodeId::text[]) AS node_id,
      unnest(:newTasks.item::integer[]) AS item,
      unnest(:newTasks.kind::text[]) AS kind,
      unnest(:newTasks.generation::integer[]) AS generation,
      unnest(:newTasks.status::text[]) AS status,
      unnest(:newTasks.attempt::integer[]) AS attempt,
      unnest(:newTasks.failures::integer[]) AS failures,
      unnest(:newTasks.losses::integer[]) AS losses,
      unnest(:newTasks.redispatches::integer[]) AS redispatches,
      unnest(:newTasks.unknownOutcome::boolean[]) AS unknown_outcome,
      unnest(:newTasks.cutOff::boolean[]) AS cut_off,
      unnest(:newTasks.reportHash::text[]) AS report_hash,
      unnest(:newTasks.settledSeq::bigint[]) AS settled_seq,
      unnest(:newTasks.failureCode::text[]) AS failure_code,
      unnest(:newTasks.failureMessage::text[]) AS failure_message,
      unnest(:newTasks.failureNode::text[]) AS failure_node,
      unnest(:newTasks.queue::text[]) AS queue,
      unnest(:newTasks.handler::text[]) AS handler,
      unnest(:newTasks.input::text[]) AS input,
      unnest(:newTasks.output::text[]) AS output,
      unnest(:newTasks.dispatched::boolean[]) AS dispatched,
      unnest(:newTasks.settled::boolean[]) AS settled,
      unnest(:newTasks.startToCloseMs::bigint[]) AS start_to_close_ms,
      unnest(:newTasks.heartbeatMs::bigint[]) AS heartbeat_ms,
      unnest(:newTasks.scheduleToStartMs::bigint[]) AS schedule_to_start_ms,
      unnest(:newTasks.redispatchMs::bigint[]) AS redispatch_ms,
      unnest(:newTasks.scheduleToCloseMs::bigint[]) AS schedule_to_close_ms,
      unnest(:newTasks.backoffMs::bigint[]) AS backoff_ms,
      unnest(:newTasks.wakeMs::bigint[]) AS wake_ms,
      unnest(:newTasks.leaseId::uuid[]) AS lease_id,
      unnest(:newTasks.leaseOwner::text[]) AS lease_owner,
      unnest(:newTasks.leaseTtlMs::bigint[]) AS lease_ttl_ms
  ) i
  WHERE (SELECT flags FROM held)[i.ord]
)
