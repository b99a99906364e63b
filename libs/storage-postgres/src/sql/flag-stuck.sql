-- R8: outside the run's version, so that a decision on the run is not disturbed.
UPDATE baton.workflow_runs SET stuck_reason = :reason::text
WHERE run_id = :runId::uuid AND namespace = :namespace::text
