SELECT s.run_id, s.signal_id, s.payload_hash
FROM (
  SELECT
    unnest(:signals.runId::uuid[]) AS run_id,
    unnest(:signals.namespace::text[]) AS namespace,
    unnest(:signals.signalId::text[]) AS signal_id
) asked
CROSS JOIN LATERAL (
  SELECT s.run_id, s.signal_id, s.payload_hash
  FROM baton.signals s
  WHERE s.run_id = ANY (ARRAY[asked.run_id]) AND s.signal_id = asked.signal_id AND s.namespace = asked.namespace
) s
