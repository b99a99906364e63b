-- baton.now() is read once for the whole statement (R27).
clock AS MATERIALIZED (SELECT baton.now() AS now),
wanted AS MATERIALIZED (
  SELECT
    unnest(:runs.ord::integer[]) AS ord,
    unnest(:runs.runId::uuid[]) AS run_id,
    unnest(:runs.namespace::text[]) AS namespace,
    unnest(:runs.expectedVersion::bigint[]) AS expected_version,
    unnest(:runs.definitionVersion::integer[]) AS definition_version,
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
    unnest(:runs.fencedRows::integer[]) AS fenced_rows
),
-- The runs that are as the decision saw them, locked in the order of the array, which is sorted by id. The lateral
-- query with its lock can only be run once for each row, by the key of one partition. A run that another transaction
-- holds is skipped, never waited for (R7); one that has moved no longer has the version.
locked AS MATERIALIZED (
  SELECT w.ord, w.fenced_rows, r.started_at, r.route
  FROM wanted w LEFT JOIN LATERAL (
    SELECT r.started_at, r.route
    FROM baton.workflow_runs r
    WHERE r.run_id = w.run_id AND r.version = w.expected_version AND r.namespace = w.namespace
    FOR NO KEY UPDATE SKIP LOCKED
  ) r ON true
),
-- Arrays by position (`ord`): every effect below tells in constant time whether its run is held. A join of arrays
-- with this set would be quadratic without hash joins, and with them the planner may use one where it must not.
held AS MATERIALIZED (
  SELECT
    array_agg(l.started_at IS NOT NULL ORDER BY l.ord) AS flags,
    array_agg(coalesce(l.started_at, 'epoch') ORDER BY l.ord) AS started,
    array_agg(coalesce(l.route = 'local', false) ORDER BY l.ord) AS local,
    count(l.started_at) AS runs,
    coalesce(sum(l.fenced_rows) FILTER (WHERE l.started_at IS NOT NULL), 0) AS fenced_rows
  FROM locked l
),
updated_runs AS (
  UPDATE baton.workflow_runs r SET
    definition_version = w.definition_version,
    status = w.status,
    cause = w.cause,
    undo = w.undo,
    epoch = w.epoch,
    version = w.expected_version + 1,
    journal_seq = w.journal_seq,
    outbox_seq = w.outbox_seq,
    buffered_signals = w.buffered_signals,
    failure_code = w.failure_code,
    failure_message = w.failure_message,
    failure_node = w.failure_node,
    last_commit = :batchId::uuid,
    -- R8: a decision on it has committed, so it is not stuck.
    stuck_reason = NULL,
    -- Of its last epoch: it may have been opened again and ended again in this one write (R2).
    ended_at = CASE WHEN w.terminal THEN coalesce(CASE WHEN r.epoch = w.epoch THEN r.ended_at END, c.now) END
  FROM clock c, wanted w
  WHERE (SELECT flags FROM held)[w.ord]
    AND r.run_id = ANY (ARRAY[w.run_id])
    AND r.version = w.expected_version
  RETURNING 1
)
