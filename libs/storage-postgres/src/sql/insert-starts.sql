-- New runs with the net effect of their RunStarted (R24). A start that brings its one key along is written if the key
-- was free; the others have theirs already, or none. Answers what was written, by position.
WITH
clock AS MATERIALIZED (SELECT baton.now() AS now),
asked AS MATERIALIZED (
  SELECT
    unnest(:runs.ord::integer[]) AS ord,
    unnest(:runs.runId::uuid[]) AS run_id,
    unnest(:runs.namespace::text[]) AS namespace,
    unnest(:runs.definitionId::text[]) AS definition_id,
    unnest(:runs.definitionVersion::integer[]) AS definition_version,
    unnest(:runs.route::text[]) AS route,
    unnest(:runs.status::text[]) AS status,
    unnest(:runs.cause::text[]) AS cause,
    unnest(:runs.undo::text[]) AS undo,
    unnest(:runs.epoch::integer[]) AS epoch,
    unnest(:runs.journalSeq::bigint[]) AS journal_seq,
    unnest(:runs.outboxSeq::bigint[]) AS outbox_seq,
    unnest(:runs.bufferedSignals::integer[]) AS buffered_signals,
    unnest(:runs.failureCode::text[]) AS failure_code,
    unnest(:runs.failureMessage::text[]) AS failure_message,
    unnest(:runs.failureNode::text[]) AS failure_node,
    unnest(:runs.terminal::boolean[]) AS terminal,
    unnest(:runs.traceparent::text[]) AS traceparent,
    unnest(:runs.startedAtMs::bigint[]) AS started_at_ms,
    unnest(:runs.input::text[]) AS input,
    unnest(:runs.output::text[]) AS output,
    unnest(:runs.idempotencyKey::text[]) AS idempotency_key,
    unnest(:runs.businessKey::text[]) AS business_key,
    unnest(:runs.bringsKey::boolean[]) AS brings_key
),
-- In the order of the arrays, which is sorted (R7). Waits for a start in flight with the same key.
inserted_keys AS (
  INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at, expires_at)
  SELECT k.namespace, k.kind, k.key, k.run_id, k.request_hash, c.now, c.now + k.expires_in_ms * interval '1 millisecond'
  FROM clock c, (
    SELECT
      unnest(:keys.namespace::text[]) AS namespace,
      unnest(:keys.kind::text[]) AS kind,
      unnest(:keys.key::text[]) AS key,
      unnest(:keys.runId::uuid[]) AS run_id,
      unnest(:keys.requestHash::text[]) AS request_hash,
      unnest(:keys.expiresInMs::bigint[]) AS expires_in_ms
  ) k
  ON CONFLICT (namespace, kind, key) DO NOTHING
  RETURNING run_id
),
started AS MATERIALIZED (
  SELECT a.ord, a.route, NOT a.brings_key OR a.run_id IN (SELECT k.run_id FROM inserted_keys k) AS free,
    coalesce('epoch'::timestamptz + a.started_at_ms * interval '1 millisecond', c.now) AS started_at
  FROM clock c, asked a
),
-- As in the write statement: what the effects need of their run, by position.
held AS MATERIALIZED (
  SELECT
    array_agg(s.free ORDER BY s.ord) AS flags,
    array_agg(s.started_at ORDER BY s.ord) AS started,
    array_agg(s.route = 'local' ORDER BY s.ord) AS local
  FROM started s
),
inserted_runs AS (
  INSERT INTO baton.workflow_runs (run_id, namespace, definition_id, definition_version, route, status, cause, undo,
    epoch, version, journal_seq, outbox_seq, buffered_signals, last_commit, root_run_id, traceparent, failure_code,
    failure_message, failure_node, started_at, ended_at)
  SELECT a.run_id, a.namespace, a.definition_id, a.definition_version, a.route, a.status, a.cause, a.undo, a.epoch, 1,
    a.journal_seq, a.outbox_seq, a.buffered_signals, :batchId::uuid, a.run_id, a.traceparent, a.failure_code,
    a.failure_message, a.failure_node, (SELECT started FROM held)[a.ord], CASE WHEN a.terminal THEN c.now END
  FROM clock c, asked a
  WHERE (SELECT flags FROM held)[a.ord]
),
inserted_payloads AS (
  INSERT INTO baton.run_payloads (run_id, namespace, input, output, idempotency_key, business_key)
  SELECT a.run_id, a.namespace, a.input, a.output, a.idempotency_key, a.business_key
  FROM asked a
  WHERE (SELECT flags FROM held)[a.ord]
),
-- include parts/insert-tasks.sql
,
-- include parts/insert-journal.sql
,
-- include parts/insert-outbox.sql
,
-- include parts/insert-timers.sql
SELECT h.flags::text AS flags
FROM held h
