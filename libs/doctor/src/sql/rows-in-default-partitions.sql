-- R25: so many of each table are enough to know what is wrong.
(SELECT 'workflow_runs' AS relation, d.run_id, d.namespace FROM baton.workflow_runs_default d ORDER BY d.run_id LIMIT $1::integer)
UNION ALL
(SELECT 'run_payloads', d.run_id, d.namespace FROM baton.run_payloads_default d ORDER BY d.run_id LIMIT $1::integer)
UNION ALL
(SELECT 'task_instances', d.run_id, d.namespace FROM baton.task_instances_default d ORDER BY d.run_id, d.task_id LIMIT $1::integer)
UNION ALL
(SELECT 'run_journal', d.run_id, d.namespace FROM baton.run_journal_default d ORDER BY d.run_id, d.seq LIMIT $1::integer)
UNION ALL
(SELECT 'signals', d.run_id, d.namespace FROM baton.signals_default d ORDER BY d.run_id, d.signal_id LIMIT $1::integer)
UNION ALL
(SELECT 'outbox', d.run_id, d.namespace FROM baton.outbox_default d ORDER BY d.created_at, d.id LIMIT $1::integer)
