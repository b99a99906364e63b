-- R24: has this command had its effect already?
SELECT k.key, k.request_hash
FROM (
  SELECT unnest(:commands.namespace::text[]) AS namespace, unnest(:commands.key::text[]) AS key
) asked
CROSS JOIN LATERAL (
  SELECT k.key, k.request_hash
  FROM baton.run_keys k
  WHERE k.namespace = ANY (ARRAY[asked.namespace]) AND k.kind = 'command' AND k.key = asked.key
) k
