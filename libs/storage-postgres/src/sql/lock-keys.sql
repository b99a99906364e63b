-- R24: before runs in the lock order. Who takes a key over, and who reopens the run that it names, meet here.
SELECT k.namespace, k.kind, k.key, k.run_id, k.request_hash
FROM (
  SELECT
    unnest(:keys.namespace::text[]) AS namespace,
    unnest(:keys.kind::text[]) AS kind,
    unnest(:keys.key::text[]) AS key
) asked
CROSS JOIN LATERAL (
  SELECT k.namespace, k.kind, k.key, k.run_id, k.request_hash
  FROM baton.run_keys k
  WHERE k.namespace = asked.namespace AND k.kind = asked.kind AND k.key = asked.key
  FOR NO KEY UPDATE
) k
