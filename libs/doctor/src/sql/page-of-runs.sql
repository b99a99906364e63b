-- By run id, over all partitions in the order of their key.
SELECT r.run_id, r.namespace, r.journal_seq, r.stuck_reason
FROM baton.workflow_runs r
WHERE r.run_id > $1::uuid
ORDER BY r.run_id
LIMIT $2::integer
