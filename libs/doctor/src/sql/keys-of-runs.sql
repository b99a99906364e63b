-- The keys that runs say they were started with, whom they belong to, and whether that run says so too.
SELECT a.run_id, p.kind, p.key, k.run_id AS holder, h.claims
FROM unnest($1::uuid[], $2::text[], $3::text[]) AS a(run_id, namespace, definition_id)
CROSS JOIN LATERAL (
  SELECT p.idempotency_key, p.business_key
  FROM baton.run_payloads p
  WHERE p.run_id = ANY (ARRAY[a.run_id])
  OFFSET 0
) q
CROSS JOIN LATERAL (
  SELECT v.kind, v.key
  FROM (VALUES ('idempotency', q.idempotency_key), ('business:' || a.definition_id, q.business_key)) AS v(kind, key)
  WHERE v.key IS NOT NULL
  OFFSET 0
) p
LEFT JOIN LATERAL (
  SELECT k.run_id
  FROM baton.run_keys k
  WHERE k.namespace = ANY (ARRAY[a.namespace]) AND k.kind = p.kind AND k.key = p.key
  OFFSET 0
) k ON true
LEFT JOIN LATERAL (
  SELECT CASE p.kind WHEN 'idempotency' THEN h.idempotency_key ELSE h.business_key END IS NOT DISTINCT FROM p.key AS claims
  FROM baton.run_payloads h
  WHERE h.run_id = ANY (ARRAY[k.run_id]) AND h.namespace = a.namespace
  OFFSET 0
) h ON true
