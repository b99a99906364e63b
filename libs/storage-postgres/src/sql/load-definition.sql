-- Deleted definitions still load, for runs in flight.
SELECT spec FROM baton.workflow_definitions
WHERE namespace = :namespace::text AND id = :id::text AND version = :version::integer
