-- Keys in order, with the run that each names and what that run says of itself. Expired ones are nobody's.
SELECT k.namespace, k.kind, k.key, k.run_id, k.expired, r.run_id IS NOT NULL AS present, p.idempotency_key,
  p.business_key, r.definition_id
FROM (
  SELECT k.namespace, k.kind, k.key, k.run_id, coalesce(k.expires_at <= (SELECT baton.now()), false) AS expired
  FROM baton.run_keys k
  WHERE (k.namespace, k.kind, k.key) > ($1::text, $2::text, $3::text)
  ORDER BY k.namespace, k.kind, k.key
  LIMIT $4::integer
) k
LEFT JOIN LATERAL (
  SELECT r.run_id, r.definition_id
  FROM baton.workflow_runs r
  WHERE r.run_id = ANY (ARRAY[k.run_id]) AND r.namespace = k.namespace
  OFFSET 0
) r ON true
LEFT JOIN LATERAL (
  SELECT p.idempotency_key, p.business_key
  FROM baton.run_payloads p
  WHERE p.run_id = ANY (ARRAY[k.run_id])
  OFFSET 0
) p ON true
ORDER BY k.namespace, k.kind, k.key
