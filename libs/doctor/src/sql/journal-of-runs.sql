-- From a seq on, so many of each run: a long journal is read in several goes.
SELECT a.run_id, j.seq, j.epoch, j.kind, j.node_id, j.task_id, j.task_kind, j.attempt, j.detail, j.at
FROM unnest($1::uuid[], $2::bigint[]) AS a(run_id, after_seq)
CROSS JOIN LATERAL (
  SELECT j.seq, j.epoch, j.kind, j.node_id, j.task_id, j.task_kind, j.attempt, j.at::text AS at,
    CASE WHEN j.kind = 'run.reopened' THEN j.detail END AS detail
  FROM baton.run_journal j
  WHERE j.run_id = ANY (ARRAY[a.run_id]) AND j.seq > a.after_seq
  ORDER BY j.seq
  LIMIT $3::integer
) j
