-- `namespace <> ''` opens the index of the lists (see the migration).
SELECT r.run_id, r.namespace, r.journal_seq, r.stuck_reason
FROM baton.workflow_runs r
WHERE r.run_id > $1::uuid AND r.namespace = $3::text AND r.namespace <> ''
ORDER BY r.run_id
LIMIT $2::integer
