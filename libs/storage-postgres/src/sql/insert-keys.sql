-- R24: in the order of the arrays, which is sorted. Waits for a start in flight with the same key; a key that is taken
-- stays as it is. Returns what was inserted.
INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at, expires_at)
SELECT k.namespace, k.kind, k.key, k.run_id, k.request_hash, c.now, c.now + k.expires_in_ms * interval '1 millisecond'
FROM (SELECT baton.now() AS now OFFSET 0) c, (
  SELECT
    unnest(:keys.namespace::text[]) AS namespace,
    unnest(:keys.kind::text[]) AS kind,
    unnest(:keys.key::text[]) AS key,
    unnest(:keys.runId::uuid[]) AS run_id,
    unnest(:keys.requestHash::text[]) AS request_hash,
    unnest(:keys.expiresInMs::bigint[]) AS expires_in_ms
) k
ON CONFLICT (namespace, kind, key) DO NOTHING
RETURNING namespace, kind, key
