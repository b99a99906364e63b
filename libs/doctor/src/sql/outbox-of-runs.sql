-- The outbox has no index by run. Its rows carry the instant of the journal rows that they were written with, which is
-- the first column of its key.
SELECT a.run_id, o.run_seq, o.type, o.topic, o.head
FROM unnest($1::uuid[], $2::timestamptz[]) AS a(run_id, at)
CROSS JOIN LATERAL (
  SELECT o.run_seq, o.type, o.topic, left(o.payload, 1000) AS head
  FROM baton.outbox o
  WHERE o.created_at = ANY (ARRAY[a.at]) AND o.run_id = a.run_id
  OFFSET 0
) o
