-- Publishes a definition version, once. No row back = this version is there already, and nothing was changed, whatever
-- its content. A version that was hidden comes back with the content that it had. `deploy`: `always`, `newer` (than what
-- is deployed: a process that starts late must not roll a newer version back) or `no`. A repeat finds it done.
WITH published AS (
  INSERT INTO baton.workflow_definitions AS d (namespace, id, version, spec, content_hash)
  VALUES (:namespace::text, :id::text, :version::integer, :spec::text, :contentHash::text)
  ON CONFLICT (namespace, id, version) DO UPDATE SET deleted_at = NULL
  WHERE d.deleted_at IS NOT NULL AND d.content_hash = excluded.content_hash
  RETURNING namespace, id, version
), deployed AS (
  INSERT INTO baton.deployed_definitions AS p (namespace, id, version, deployed_at)
  SELECT namespace, id, version, baton.now() FROM published WHERE :deploy::text <> 'no'
  ON CONFLICT (namespace, id) DO UPDATE SET version = excluded.version, deployed_at = excluded.deployed_at
  WHERE :deploy::text = 'always' OR p.version < excluded.version
)
SELECT version FROM published
