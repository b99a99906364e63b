-- Buffered and not expired, oldest first.
SELECT s.run_id, s.name, s.signal_id, s.payload, s.payload_hash
FROM (SELECT baton.now() AS now OFFSET 0) c
CROSS JOIN (
  SELECT
    unnest(:signals.runId::uuid[]) AS run_id,
    unnest(:signals.namespace::text[]) AS namespace,
    unnest(:signals.name::text[]) AS name
) asked
CROSS JOIN LATERAL (
  SELECT s.run_id, s.name, s.signal_id, s.payload, s.payload_hash, s.seq
  FROM baton.signals s
  WHERE s.run_id = ANY (ARRAY[asked.run_id]) AND s.namespace = asked.namespace AND s.name = asked.name
    AND s.status = 'BUFFERED' AND (s.expires_at IS NULL OR s.expires_at > c.now)
) s
ORDER BY s.run_id, s.name, s.seq, s.signal_id
