-- New runs with the net effect of their RunStarted (R24). Keys are there already.
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
    unnest(:runs.businessKey::text[]) AS business_key
),
started AS MATERIALIZED (
  SELECT a.ord, a.route,
    coalesce('epoch'::timestamptz + a.started_at_ms * interval '1 millisecond', c.now) AS started_at
  FROM clock c, asked a
),
-- As in the write statement: what the effects need of their run, by position.
held AS MATERIALIZED (
  SELECT
    array_agg(true ORDER BY s.ord) AS flags,
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
),
inserted_payloads AS (
  INSERT INTO baton.run_payloads (run_id, namespace, input, output, idempotency_key, business_key)
  SELECT a.run_id, a.namespace, a.input, a.output, a.idempotency_key, a.business_key
  FROM asked a
),
-- include parts/insert-tasks.sql
,
-- include parts/insert-journal.sql
,
-- include parts/insert-outbox.sql
,
-- include parts/insert-timers.sql
SELECT 1 AS done
