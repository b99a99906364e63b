task_updates AS MATERIALIZED (
  SELECT
    unnest(:tasks.n::integer[]) AS n,
    unnest(:tasks.ord::integer[]) AS ord,
    unnest(:tasks.runId::uuid[]) AS run_id,
    unnest(:tasks.taskId::uuid[]) AS task_id,
    unnest(:tasks.generation::integer[]) AS generation,
    unnest(:tasks.fenceAttempt::integer[]) AS fence_attempt,
    unnest(:tasks.fenceLeaseId::uuid[]) AS fence_lease_id,
    unnest(:tasks.fencePassed::text[]) AS fence_passed,
    unnest(:tasks.status::text[]) AS status,
    unnest(:tasks.attempt::integer[]) AS attempt,
    unnest(:tasks.failures::integer[]) AS failures,
    unnest(:tasks.losses::integer[]) AS losses,
    unnest(:tasks.redispatches::integer[]) AS redispatches,
    unnest(:tasks.unknownOutcome::boolean[]) AS unknown_outcome,
    unnest(:tasks.cutOff::boolean[]) AS cut_off,
    unnest(:tasks.reportHash::text[]) AS report_hash,
    unnest(:tasks.settledSeq::bigint[]) AS settled_seq,
    unnest(:tasks.failureCode::text[]) AS failure_code,
    unnest(:tasks.failureMessage::text[]) AS failure_message,
    unnest(:tasks.failureNode::text[]) AS failure_node,
    unnest(:tasks.queue::text[]) AS queue,
    unnest(:tasks.handler::text[]) AS handler,
    unnest(:tasks.setInput::boolean[]) AS set_input,
    unnest(:tasks.input::text[]) AS input,
    unnest(:tasks.setOutput::boolean[]) AS set_output,
    unnest(:tasks.output::text[]) AS output,
    unnest(:tasks.wake::text[]) AS wake,
    unnest(:tasks.endsAttempt::boolean[]) AS ends_attempt,
    unnest(:tasks.restartsToClose::boolean[]) AS restarts_to_close,
    unnest(:tasks.settled::boolean[]) AS settled,
    unnest(:tasks.startToCloseMs::bigint[]) AS start_to_close_ms,
    unnest(:tasks.heartbeatMs::bigint[]) AS heartbeat_ms,
    unnest(:tasks.scheduleToStartMs::bigint[]) AS schedule_to_start_ms,
    unnest(:tasks.redispatchMs::bigint[]) AS redispatch_ms,
    unnest(:tasks.scheduleToCloseMs::bigint[]) AS schedule_to_close_ms,
    unnest(:tasks.wakeMs::bigint[]) AS wake_ms,
    unnest(:tasks.leaseId::uuid[]) AS lease_id,
    unnest(:tasks.leaseOwner::text[]) AS lease_owner,
    unnest(:tasks.leaseTtlMs::bigint[]) AS lease_ttl_ms
),
-- Fenced on columns that change together with the run's version (R1); on lease columns only where the attempt is
-- ended by time (R9), or where the decision saw them without a lock (R30). `= ANY (ARRAY[x])` instead of `=` leaves the planner nothing but looking each row up by its key:
-- no order of an index is of use to a join then, so a hash join would need the forbidden sequential scan.
updated_tasks AS (
  UPDATE baton.task_instances t SET
    status = u.status,
    attempt = u.attempt,
    failures = u.failures,
    losses = u.losses,
    redispatches = u.redispatches,
    unknown_outcome = u.unknown_outcome,
    cut_off = u.cut_off,
    report_hash = u.report_hash,
    settled_seq = u.settled_seq,
    failure_code = u.failure_code,
    failure_message = u.failure_message,
    failure_node = u.failure_node,
    queue = coalesce(u.queue, t.queue),
    handler = coalesce(u.handler, t.handler),
    input = CASE WHEN u.set_input THEN u.input ELSE t.input END,
    output = CASE WHEN u.set_output THEN u.output ELSE t.output END,
    start_to_close_ms = coalesce(u.start_to_close_ms, t.start_to_close_ms),
    heartbeat_ms = coalesce(u.heartbeat_ms, t.heartbeat_ms),
    dispatched_at = CASE u.wake WHEN 'dispatch' THEN c.now ELSE t.dispatched_at END,
    schedule_to_start_at = CASE u.wake WHEN 'dispatch' THEN c.now + u.schedule_to_start_ms * interval '1 millisecond'
      ELSE t.schedule_to_start_at END,
    redispatch_at = CASE u.wake WHEN 'dispatch' THEN c.now + u.redispatch_ms * interval '1 millisecond'
      ELSE t.redispatch_at END,
    -- Counts from the generation's first dispatch (R14): set once, and anew only when a failed undo is tried again.
    schedule_to_close_at = coalesce(CASE WHEN NOT u.restarts_to_close THEN t.schedule_to_close_at END,
      c.now + u.schedule_to_close_ms * interval '1 millisecond'),
    backoff_until = CASE WHEN u.wake = 'backoff' THEN c.now + u.wake_ms * interval '1 millisecond'
      WHEN u.ends_attempt THEN NULL ELSE t.backoff_until END,
    cut_off_until = CASE WHEN u.wake = 'cut-off' THEN c.now + u.wake_ms * interval '1 millisecond'
      WHEN u.ends_attempt THEN NULL ELSE t.cut_off_until END,
    settled_at = CASE WHEN u.settled THEN coalesce(t.settled_at, c.now) END,
    lease_id = CASE WHEN u.ends_attempt THEN u.lease_id ELSE t.lease_id END,
    lease_owner = CASE WHEN u.ends_attempt THEN u.lease_owner ELSE t.lease_owner END,
    lease_call = CASE WHEN u.ends_attempt THEN NULL ELSE t.lease_call END,
    leased_at = CASE WHEN NOT u.ends_attempt THEN t.leased_at WHEN u.lease_id IS NOT NULL THEN c.now END,
    lease_expires_at = CASE WHEN u.ends_attempt THEN c.now + u.lease_ttl_ms * interval '1 millisecond'
      ELSE t.lease_expires_at END,
    start_to_close_at = CASE WHEN NOT u.ends_attempt THEN t.start_to_close_at
      WHEN u.lease_id IS NOT NULL THEN c.now + u.start_to_close_ms * interval '1 millisecond' END,
    -- R21: the failures of a wake-up that this decision replaces.
    wake_failures = CASE u.wake WHEN 'keep' THEN t.wake_failures ELSE 0 END,
    wake_at = CASE u.wake
      WHEN 'close' THEN NULL
      WHEN 'idle' THEN NULL
      WHEN 'keep' THEN t.wake_at
      WHEN 'cut-off' THEN least(t.lease_expires_at, c.now + u.wake_ms * interval '1 millisecond')
      WHEN 'rearm' THEN CASE
        WHEN u.status = 'BACKOFF' THEN least(t.backoff_until, t.schedule_to_close_at)
        WHEN u.cut_off THEN least(t.lease_expires_at, t.cut_off_until)
        WHEN t.lease_id IS NOT NULL THEN least(t.lease_expires_at, t.start_to_close_at, t.schedule_to_close_at)
        ELSE least(t.schedule_to_start_at, t.redispatch_at, t.schedule_to_close_at) END
      ELSE least(c.now + u.wake_ms * interval '1 millisecond',
        coalesce(CASE WHEN NOT u.restarts_to_close THEN t.schedule_to_close_at END,
          c.now + u.schedule_to_close_ms * interval '1 millisecond')) END
  FROM clock c, task_updates u
  WHERE (SELECT flags FROM held)[u.ord]
    AND t.run_id = ANY (ARRAY[u.run_id])
    AND t.task_id = u.task_id
    AND t.attempt = u.fence_attempt
    AND t.generation = u.generation
    AND CASE WHEN u.fence_passed IS NULL THEN true
      ELSE t.lease_id IS NOT DISTINCT FROM u.fence_lease_id AND CASE u.fence_passed
        WHEN 'seen' THEN true
        WHEN 'lease' THEN t.lease_expires_at <= c.now
        WHEN 'start-to-close' THEN t.start_to_close_at <= c.now
        WHEN 'schedule-to-close' THEN t.schedule_to_close_at <= c.now
        WHEN 'cut-off' THEN t.cut_off_until <= c.now END END
  RETURNING u.n
)
