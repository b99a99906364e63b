SELECT p.run_id, p.input
FROM (
  SELECT unnest(:runs.runId::uuid[]) AS run_id, unnest(:runs.namespace::text[]) AS namespace
) asked
CROSS JOIN LATERAL (
  SELECT p.run_id, p.input
  FROM baton.run_payloads p
  WHERE p.run_id = ANY (ARRAY[asked.run_id]) AND p.namespace = asked.namespace
) p
