-- R32: buffered signals that have expired; at most as many as a run may hold.
SELECT s.run_id, s.signal_id, s.name
FROM (SELECT baton.now() AS now OFFSET 0) c
CROSS JOIN (
  SELECT unnest(:runs.runId::uuid[]) AS run_id, unnest(:runs.namespace::text[]) AS namespace
) asked
CROSS JOIN LATERAL (
  SELECT s.run_id, s.signal_id, s.name, s.seq
  FROM baton.signals s
  WHERE s.run_id = ANY (ARRAY[asked.run_id]) AND s.namespace = asked.namespace AND s.status = 'BUFFERED'
    AND s.expires_at <= c.now
) s
ORDER BY s.run_id, s.seq, s.signal_id
