-- The write statement for the two writes that come alone most often: a new run with its first task, and a report that
-- closes one task and makes one more at most. They do what `insert-starts` and `write-batch` do for one run, with the same
-- fences (R1, R7) and the same commit stamp (R6); which form is used is the caller's choice, and no row tells.
--
-- Functions, because most of the time of a statement of many parts goes into starting it: of these, each part is as simple
-- as it can be and reaches one partition by its key, and parts that are not needed are not started.
-- Each is one statement to the client, so still one transaction of its own and one round trip.

-- true = the run was held and everything is written; false = it has moved or somebody holds it: nothing is (R7).
-- A fence that misses raises, and nothing of it stays (R1).
CREATE FUNCTION baton.write_step(
  batch_id uuid,
  -- the run
  r_id uuid, r_namespace text, r_expected_version bigint, r_definition_version integer, r_status text, r_cause text,
  r_undo text, r_epoch integer, r_journal_seq bigint, r_outbox_seq bigint, r_buffered_signals integer,
  r_failure_code text, r_failure_message text, r_failure_node text, r_terminal boolean,
  -- the task that is closed; its attempt is the fence
  c_task_id uuid, c_generation integer, c_status text, c_attempt integer, c_failures integer, c_losses integer,
  c_redispatches integer, c_unknown_outcome boolean, c_cut_off boolean, c_report_hash text, c_settled_seq bigint,
  c_failure_code text, c_failure_message text, c_failure_node text, c_queue text, c_handler text, c_set_output boolean,
  c_output text,
  -- the task that is dispatched, with its lease; no id = none
  n_task_id uuid, n_node_id text, n_item integer, n_kind text, n_generation integer, n_attempt integer,
  n_failures integer, n_losses integer, n_redispatches integer, n_unknown_outcome boolean, n_cut_off boolean,
  n_queue text, n_handler text, n_input text, n_start_to_close_ms bigint, n_heartbeat_ms bigint,
  n_schedule_to_start_ms bigint, n_redispatch_ms bigint, n_schedule_to_close_ms bigint, n_wake_ms bigint,
  n_lease_id uuid, n_lease_owner text, n_lease_ttl_ms bigint,
  -- the journal
  j_seq bigint[], j_kind text[], j_node_id text[], j_task_id uuid[], j_task_kind text[], j_attempt integer[],
  j_code text[], j_detail text[],
  -- the outbox
  o_id uuid[], o_run_seq bigint[], o_topic text[], o_type text[], o_payload text[], o_traceparent text,
  o_shard smallint,
  -- every timer of the run goes
  clears_timers boolean,
  -- what the run came to
  sets_result boolean, result text
) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  -- Read once (R27).
  at timestamptz := baton.now();
  run_route text;
BEGIN
  SELECT r.route INTO run_route
  FROM baton.workflow_runs r
  WHERE r.run_id = r_id AND r.version = r_expected_version AND r.namespace = r_namespace
  FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;

  UPDATE baton.workflow_runs r SET
    definition_version = r_definition_version,
    status = r_status,
    cause = r_cause,
    undo = r_undo,
    epoch = r_epoch,
    version = r_expected_version + 1,
    journal_seq = r_journal_seq,
    outbox_seq = r_outbox_seq,
    buffered_signals = r_buffered_signals,
    failure_code = r_failure_code,
    failure_message = r_failure_message,
    failure_node = r_failure_node,
    last_commit = batch_id,
    stuck_reason = NULL,
    ended_at = CASE WHEN r_terminal THEN coalesce(CASE WHEN r.epoch = r_epoch THEN r.ended_at END, at) END
  WHERE r.run_id = r_id;

  UPDATE baton.task_instances t SET
    status = c_status,
    attempt = c_attempt,
    failures = c_failures,
    losses = c_losses,
    redispatches = c_redispatches,
    unknown_outcome = c_unknown_outcome,
    cut_off = c_cut_off,
    report_hash = c_report_hash,
    settled_seq = c_settled_seq,
    failure_code = c_failure_code,
    failure_message = c_failure_message,
    failure_node = c_failure_node,
    queue = coalesce(c_queue, t.queue),
    handler = coalesce(c_handler, t.handler),
    output = CASE WHEN c_set_output THEN c_output ELSE t.output END,
    backoff_until = NULL,
    cut_off_until = NULL,
    settled_at = coalesce(t.settled_at, at),
    lease_id = NULL,
    lease_owner = NULL,
    lease_call = NULL,
    leased_at = NULL,
    lease_expires_at = NULL,
    start_to_close_at = NULL,
    wake_failures = 0,
    wake_at = NULL
  WHERE t.run_id = r_id AND t.task_id = c_task_id AND t.attempt = c_attempt AND t.generation = c_generation;
  IF NOT FOUND THEN
    PERFORM baton.raise_fence_miss(r_id::text);
  END IF;

  IF n_task_id IS NOT NULL THEN
    INSERT INTO baton.task_instances (
      run_id, task_id, namespace, node_id, item, kind, generation, status, attempt, failures, losses, redispatches,
      unknown_outcome, cut_off, route, queue, handler, input, start_to_close_ms, heartbeat_ms, created_at,
      dispatched_at, schedule_to_start_at, redispatch_at, schedule_to_close_at, wake_at, lease_id, lease_owner,
      leased_at, lease_expires_at, start_to_close_at
    ) VALUES (
      r_id, n_task_id, r_namespace, n_node_id, n_item, n_kind, n_generation, 'SCHEDULED', n_attempt, n_failures,
      n_losses, n_redispatches, n_unknown_outcome, n_cut_off, run_route, n_queue, n_handler, n_input,
      n_start_to_close_ms, n_heartbeat_ms, at, at,
      at + n_schedule_to_start_ms * interval '1 millisecond',
      at + n_redispatch_ms * interval '1 millisecond',
      at + n_schedule_to_close_ms * interval '1 millisecond',
      at + n_wake_ms * interval '1 millisecond',
      n_lease_id, n_lease_owner,
      CASE WHEN n_lease_id IS NOT NULL THEN at END,
      at + n_lease_ttl_ms * interval '1 millisecond',
      CASE WHEN n_lease_id IS NOT NULL THEN at + n_start_to_close_ms * interval '1 millisecond' END
    );
  END IF;

  INSERT INTO baton.run_journal (run_id, seq, namespace, epoch, kind, node_id, task_id, task_kind, attempt, code,
    detail, at)
  SELECT r_id, unnest(j_seq), r_namespace, r_epoch, unnest(j_kind), unnest(j_node_id), unnest(j_task_id),
    unnest(j_task_kind), unnest(j_attempt), unnest(j_code), unnest(j_detail), at;

  IF cardinality(o_id) > 0 THEN
    INSERT INTO baton.outbox (id, aggregatetype, aggregateid, type, payload, run_id, run_seq, topic, traceparent,
      shard, namespace, created_at)
    SELECT unnest(o_id), 'run', r_id::text, unnest(o_type), unnest(o_payload), r_id, unnest(o_run_seq),
      unnest(o_topic), o_traceparent, o_shard, r_namespace, at;
  END IF;

  IF clears_timers THEN
    DELETE FROM baton.timers t WHERE t.run_id = r_id;
  END IF;

  IF sets_result THEN
    UPDATE baton.run_payloads p SET output = result WHERE p.run_id = r_id;
    IF NOT FOUND THEN
      PERFORM baton.raise_fence_miss(r_id::text);
    END IF;
  END IF;
  RETURN true;
END $$;

-- true = the run is written; false = its key is taken, and nothing is (R24). Waits for a start in flight with the same key.
CREATE FUNCTION baton.write_start(
  batch_id uuid,
  r_id uuid, r_namespace text, r_definition_id text, r_definition_version integer, r_route text, r_status text,
  r_undo text, r_epoch integer, r_journal_seq bigint, r_outbox_seq bigint, r_buffered_signals integer,
  r_traceparent text, r_started_at_ms bigint, r_input text, r_idempotency_key text, r_business_key text,
  -- the key that it brings; no key = none
  k_kind text, k_key text, k_request_hash text, k_expires_in_ms bigint,
  -- its first task, with its lease
  n_task_id uuid, n_node_id text, n_item integer, n_kind text, n_generation integer, n_attempt integer,
  n_failures integer, n_losses integer, n_redispatches integer, n_unknown_outcome boolean, n_cut_off boolean,
  n_queue text, n_handler text, n_input text, n_start_to_close_ms bigint, n_heartbeat_ms bigint,
  n_schedule_to_start_ms bigint, n_redispatch_ms bigint, n_schedule_to_close_ms bigint, n_wake_ms bigint,
  n_lease_id uuid, n_lease_owner text, n_lease_ttl_ms bigint,
  j_seq bigint[], j_kind text[], j_node_id text[], j_task_id uuid[], j_task_kind text[], j_attempt integer[],
  j_code text[], j_detail text[],
  o_id uuid[], o_run_seq bigint[], o_topic text[], o_type text[], o_payload text[], o_traceparent text,
  o_shard smallint,
  -- a timer; no id = none
  t_timer_id uuid, t_kind text, t_node_id text, t_generation integer, t_after_ms bigint, t_from_run_start boolean
) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  at timestamptz := baton.now();
  started timestamptz := coalesce('epoch'::timestamptz + r_started_at_ms * interval '1 millisecond', at);
BEGIN
  IF k_key IS NOT NULL THEN
    INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at, expires_at)
    VALUES (r_namespace, k_kind, k_key, r_id, k_request_hash, at, at + k_expires_in_ms * interval '1 millisecond')
    ON CONFLICT (namespace, kind, key) DO NOTHING;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
  END IF;

  INSERT INTO baton.workflow_runs (run_id, namespace, definition_id, definition_version, route, status, undo, epoch,
    version, journal_seq, outbox_seq, buffered_signals, last_commit, root_run_id, traceparent, started_at)
  VALUES (r_id, r_namespace, r_definition_id, r_definition_version, r_route, r_status, r_undo, r_epoch, 1,
    r_journal_seq, r_outbox_seq, r_buffered_signals, batch_id, r_id, r_traceparent, started);

  INSERT INTO baton.run_payloads (run_id, namespace, input, idempotency_key, business_key)
  VALUES (r_id, r_namespace, r_input, r_idempotency_key, r_business_key);

  INSERT INTO baton.task_instances (
    run_id, task_id, namespace, node_id, item, kind, generation, status, attempt, failures, losses, redispatches,
    unknown_outcome, cut_off, route, queue, handler, input, start_to_close_ms, heartbeat_ms, created_at,
    dispatched_at, schedule_to_start_at, redispatch_at, schedule_to_close_at, wake_at, lease_id, lease_owner,
    leased_at, lease_expires_at, start_to_close_at
  ) VALUES (
    r_id, n_task_id, r_namespace, n_node_id, n_item, n_kind, n_generation, 'SCHEDULED', n_attempt, n_failures,
    n_losses, n_redispatches, n_unknown_outcome, n_cut_off, r_route, n_queue, n_handler, n_input,
    n_start_to_close_ms, n_heartbeat_ms, at, at,
    at + n_schedule_to_start_ms * interval '1 millisecond',
    at + n_redispatch_ms * interval '1 millisecond',
    at + n_schedule_to_close_ms * interval '1 millisecond',
    at + n_wake_ms * interval '1 millisecond',
    n_lease_id, n_lease_owner,
    CASE WHEN n_lease_id IS NOT NULL THEN at END,
    at + n_lease_ttl_ms * interval '1 millisecond',
    CASE WHEN n_lease_id IS NOT NULL THEN at + n_start_to_close_ms * interval '1 millisecond' END
  );

  INSERT INTO baton.run_journal (run_id, seq, namespace, epoch, kind, node_id, task_id, task_kind, attempt, code,
    detail, at)
  SELECT r_id, unnest(j_seq), r_namespace, r_epoch, unnest(j_kind), unnest(j_node_id), unnest(j_task_id),
    unnest(j_task_kind), unnest(j_attempt), unnest(j_code), unnest(j_detail), at;

  IF cardinality(o_id) > 0 THEN
    INSERT INTO baton.outbox (id, aggregatetype, aggregateid, type, payload, run_id, run_seq, topic, traceparent,
      shard, namespace, created_at)
    SELECT unnest(o_id), 'run', r_id::text, unnest(o_type), unnest(o_payload), r_id, unnest(o_run_seq),
      unnest(o_topic), o_traceparent, o_shard, r_namespace, at;
  END IF;

  IF t_timer_id IS NOT NULL THEN
    INSERT INTO baton.timers (timer_id, run_id, namespace, kind, node_id, generation, due_at)
    VALUES (t_timer_id, r_id, r_namespace, t_kind, t_node_id, t_generation,
      CASE WHEN t_from_run_start THEN started ELSE at END + t_after_ms * interval '1 millisecond');
  END IF;
  RETURN true;
END $$;
