-- R6, for starts: a run that another backend is about to commit cannot be seen, so it cannot be waited for by a lock.
-- Its primary key can. Always rolled back. Returns the runs that truly do not exist.
INSERT INTO baton.workflow_runs (run_id, namespace, definition_id, definition_version, route, status, root_run_id,
  started_at)
SELECT asked.run_id, '', '', 1, 'local', 'RUNNING', asked.run_id, (SELECT baton.now())
FROM (SELECT unnest(:runIds::uuid[]) AS run_id) asked
ON CONFLICT (run_id) DO NOTHING
RETURNING run_id
