inserted_journal AS (
  INSERT INTO baton.run_journal (run_id, seq, namespace, epoch, kind, node_id, task_id, task_kind, attempt, code,
    detail, at)
  SELECT j.run_id, j.seq, j.namespace, j.epoch, j.kind, j.node_id, j.task_id, j.task_kind, j.attempt, j.code, j.detail,
    c.now
  FROM clock c, (
    SELECT
      unnest(:journal.ord::integer[]) AS ord,
      unnest(:journal.runId::uuid[]) AS run_id,
      unnest(:journal.seq::bigint[]) AS seq,
      unnest(:journal.namespace::text[]) AS namespace,
      unnest(:journal.epoch::integer[]) AS epoch,
      unnest(:journal.kind::text[]) AS kind,
      unnest(:journal.nodeId::text[]) AS node_id,
      unnest(:journal.taskId::uuid[]) AS task_id,
      unnest(:journal.taskKind::text[]) AS task_kind,
      unnest(:journal.attempt::integer[]) AS attempt,
      unnest(:journal.code::text[]) AS code,
      unnest(:journal.detail::text[]) AS detail
  ) j
  WHERE (SELECT flags FROM held)[j.ord]
)
