-- Hidden ones too: their version is taken.
SELECT spec, content_hash FROM baton.workflow_definitions
WHERE namespace = :namespace::text AND id = :id::text AND version = :version::integer
