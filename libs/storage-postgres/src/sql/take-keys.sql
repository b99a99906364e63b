-- Of keys that this transaction has locked.
UPDATE baton.run_keys k SET run_id = a.run_id, request_hash = a.request_hash
FROM (
  SELECT
    unnest(:keys.namespace::text[]) AS namespace,
    unnest(:keys.kind::text[]) AS kind,
    unnest(:keys.key::text[]) AS key,
    unnest(:keys.runId::uuid[]) AS run_id,
    unnest(:keys.requestHash::text[]) AS request_hash
) a
WHERE k.namespace = ANY (ARRAY[a.namespace]) AND k.kind = a.kind AND k.key = a.key
