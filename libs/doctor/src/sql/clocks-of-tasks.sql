-- Wake-ups and leases: what changes without the run's version (R9), so the state of the run does not hold it. Rows that
-- are closed and have nothing of the kind are left out.
SELECT a.run_id, t.task_id, t.node_id, t.status, t.route, t.has_lease, t.lease_owner, t.lease_whole, t.lease_leftover,
  t.wake_set, t.overdue_ms, t.too_late
FROM unnest($1::uuid[]) AS a(run_id)
CROSS JOIN LATERAL (
  SELECT t.task_id, t.node_id, t.status, t.route, t.lease_owner,
    t.lease_id IS NOT NULL AS has_lease,
    t.leased_at IS NOT NULL AND t.lease_expires_at IS NOT NULL AND t.start_to_close_at IS NOT NULL AS lease_whole,
    t.lease_id IS NULL AND (t.lease_owner IS NOT NULL OR t.lease_call IS NOT NULL OR t.leased_at IS NOT NULL
      OR t.lease_expires_at IS NOT NULL OR t.start_to_close_at IS NOT NULL) AS lease_leftover,
    t.wake_at IS NOT NULL AS wake_set,
    (extract(epoch FROM (SELECT baton.now()) - t.wake_at) * 1000)::bigint AS overdue_ms,
    -- A wake-up that failed is pushed by five minutes at most (R21).
    coalesce(t.wake_at > greatest((SELECT baton.now()), CASE
      WHEN t.status = 'BACKOFF' THEN least(t.backoff_until, t.schedule_to_close_at)
      WHEN t.cut_off THEN least(t.lease_expires_at, t.cut_off_until)
      WHEN t.lease_id IS NOT NULL THEN least(t.lease_expires_at, t.start_to_close_at, t.schedule_to_close_at)
      ELSE least(t.schedule_to_start_at, t.redispatch_at, t.schedule_to_close_at) END) + interval '6 minutes', false)
      AS too_late
  FROM baton.task_instances t
  WHERE t.run_id = ANY (ARRAY[a.run_id])
    AND (t.status IN ('SCHEDULED', 'BACKOFF') OR t.wake_at IS NOT NULL OR t.lease_id IS NOT NULL
      OR t.lease_owner IS NOT NULL OR t.lease_call IS NOT NULL OR t.leased_at IS NOT NULL
      OR t.lease_expires_at IS NOT NULL OR t.start_to_close_at IS NOT NULL)
  OFFSET 0
) t
