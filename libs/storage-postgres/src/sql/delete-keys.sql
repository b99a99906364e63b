-- Of starts that were refused after they had inserted some of their keys.
DELETE FROM baton.run_keys k
USING (
  SELECT
    unnest(:keys.namespace::text[]) AS namespace,
    unnest(:keys.kind::text[]) AS kind,
    unnest(:keys.key::text[]) AS key,
    unnest(:keys.runId::uuid[]) AS run_id
) a
WHERE k.namespace = ANY (ARRAY[a.namespace]) AND k.kind = a.kind AND k.key = a.key AND k.run_id = a.run_id
