-- In the order of seq, which is not the order of commits: what commits behind this page is seen by the next doctor.
-- `caused`: the run has a journal row of the same instant. `published`: a relay says that it is in Kafka.
SELECT o.seq, o.id, o.run_id, o.namespace, o.run_seq, o.topic, o.created_at::text AS created_at, o.published, o.age_ms,
  r.run_id IS NOT NULL AS present, coalesce(j.caused, false) AS caused
FROM (
  SELECT o.seq, o.id, o.run_id, o.namespace, o.run_seq, o.topic, o.created_at,
    coalesce(pg_visible_in_snapshot(o.xid, $3::pg_snapshot), false) AS published,
    (extract(epoch FROM (SELECT baton.now()) - o.created_at) * 1000)::bigint AS age_ms
  FROM baton.outbox o
  WHERE o.seq > $1::bigint
  ORDER BY o.seq
  LIMIT $2::integer
) o
LEFT JOIN LATERAL (
  SELECT r.run_id
  FROM baton.workflow_runs r
  WHERE r.run_id = ANY (ARRAY[o.run_id]) AND r.namespace = o.namespace
  OFFSET 0
) r ON true
LEFT JOIN LATERAL (
  SELECT true AS caused
  FROM baton.run_journal j
  WHERE j.run_id = ANY (ARRAY[r.run_id]) AND j.at = o.created_at
  LIMIT 1
) j ON true
ORDER BY o.seq
