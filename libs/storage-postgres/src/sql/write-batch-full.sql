-- The write of a batch that also touches signals, timers, commands or payloads of a run (ADR 0001).
-- Answers which runs it held, by position.
WITH
-- include parts/hold-runs.sql
,
-- include parts/insert-tasks.sql
,
-- include parts/update-tasks.sql
,
-- include parts/insert-journal.sql
,
-- include parts/insert-outbox.sql
,
inserted_signals AS (
  INSERT INTO baton.signals (run_id, signal_id, namespace, name, payload, payload_hash, status, seq, received_at,
    expires_at, consumed_by)
  SELECT s.run_id, s.signal_id, s.namespace, s.name, s.payload, s.payload_hash, s.status, s.seq, c.now,
    c.now + s.expires_in_ms * interval '1 millisecond', s.consumed_by
  FROM clock c, (
    SELECT
      unnest(:newSignals.ord::integer[]) AS ord,
      unnest(:newSignals.runId::uuid[]) AS run_id,
      unnest(:newSignals.signalId::text[]) AS signal_id,
      unnest(:newSignals.namespace::text[]) AS namespace,
      unnest(:newSignals.name::text[]) AS name,
      unnest(:newSignals.payload::text[]) AS payload,
      unnest(:newSignals.payloadHash::text[]) AS payload_hash,
      unnest(:newSignals.status::text[]) AS status,
      unnest(:newSignals.seq::bigint[]) AS seq,
      unnest(:newSignals.expiresInMs::bigint[]) AS expires_in_ms,
      unnest(:newSignals.consumedBy::uuid[]) AS consumed_by
  ) s
  WHERE (SELECT flags FROM held)[s.ord]
),
signal_updates AS MATERIALIZED (
  SELECT
    unnest(:signals.n::integer[]) AS n,
    unnest(:signals.ord::integer[]) AS ord,
    unnest(:signals.runId::uuid[]) AS run_id,
    unnest(:signals.signalId::text[]) AS signal_id,
    unnest(:signals.consumedBy::uuid[]) AS consumed_by
),
consumed_signals AS (
  UPDATE baton.signals s SET status = 'CONSUMED', consumed_by = u.consumed_by
  FROM signal_updates u
  WHERE (SELECT flags FROM held)[u.ord]
    AND s.run_id = ANY (ARRAY[u.run_id])
    AND s.signal_id = u.signal_id
    AND s.status = 'BUFFERED'
  RETURNING u.n
),
-- Which rows go is decided on the rows from before this statement: a timer of this batch is never cleared by it.
cleared_timers AS (
  DELETE FROM baton.timers t
  USING (
    SELECT
      unnest(:clearTimers.ord::integer[]) AS ord,
      unnest(:clearTimers.runId::uuid[]) AS run_id,
      unnest(:clearTimers.kind::text[]) AS kind,
      unnest(:clearTimers.nodeId::text[]) AS node_id,
      unnest(:clearTimers.timerId::uuid[]) AS timer_id
  ) x
  WHERE (SELECT flags FROM held)[x.ord]
    AND t.run_id = ANY (ARRAY[x.run_id])
    AND CASE
      WHEN x.timer_id IS NOT NULL THEN t.timer_id = x.timer_id
      WHEN x.node_id IS NOT NULL THEN t.node_id = x.node_id
      WHEN x.kind IS NOT NULL THEN t.kind = x.kind
      ELSE true END
),
-- include parts/insert-timers.sql
,
inserted_commands AS (
  INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at)
  SELECT k.namespace, 'command', k.key, k.run_id, k.request_hash, c.now
  FROM clock c, (
    SELECT
      unnest(:commands.ord::integer[]) AS ord,
      unnest(:commands.runId::uuid[]) AS run_id,
      unnest(:commands.namespace::text[]) AS namespace,
      unnest(:commands.key::text[]) AS key,
      unnest(:commands.requestHash::text[]) AS request_hash
  ) k
  WHERE (SELECT flags FROM held)[k.ord]
),
payload_updates AS MATERIALIZED (
  SELECT
    unnest(:payloads.n::integer[]) AS n,
    unnest(:payloads.ord::integer[]) AS ord,
    unnest(:payloads.runId::uuid[]) AS run_id,
    unnest(:payloads.setInput::boolean[]) AS set_input,
    unnest(:payloads.input::text[]) AS input,
    unnest(:payloads.setOutput::boolean[]) AS set_output,
    unnest(:payloads.output::text[]) AS output
),
updated_payloads AS (
  UPDATE baton.run_payloads p SET
    input = CASE WHEN u.set_input THEN u.input ELSE p.input END,
    output = CASE WHEN u.set_output THEN u.output ELSE p.output END
  FROM payload_updates u
  WHERE (SELECT flags FROM held)[u.ord]
    AND p.run_id = ANY (ARRAY[u.run_id])
  RETURNING u.n
)
-- R1: what was fenced must have been found. The names are looked for only when something is missing.
SELECT h.flags::text AS flags
FROM held h
WHERE CASE
  WHEN (SELECT count(*) FROM updated_runs) = h.runs
    AND (SELECT count(*) FROM updated_tasks) + (SELECT count(*) FROM consumed_signals)
      + (SELECT count(*) FROM updated_payloads) = h.fenced_rows THEN true
  ELSE baton.raise_fence_miss(coalesce((
    SELECT string_agg(DISTINCT missed.run_id::text, ',')
    FROM (
      SELECT u.run_id FROM task_updates u
      WHERE h.flags[u.ord] AND u.n NOT IN (SELECT n FROM updated_tasks)
      UNION ALL
      SELECT u.run_id FROM signal_updates u
      WHERE h.flags[u.ord] AND u.n NOT IN (SELECT n FROM consumed_signals)
      UNION ALL
      SELECT u.run_id FROM payload_updates u
      WHERE h.flags[u.ord] AND u.n NOT IN (SELECT n FROM updated_payloads)
    ) missed
  ), ''))
END
