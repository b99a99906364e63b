SELECT t.run_id, t.task_id, t.input, t.output
FROM (
  SELECT
    unnest(:tasks.runId::uuid[]) AS run_id,
    unnest(:tasks.namespace::text[]) AS namespace,
    unnest(:tasks.taskId::uuid[]) AS task_id
) asked
CROSS JOIN LATERAL (
  SELECT t.run_id, t.task_id, t.input, t.output
  FROM baton.task_instances t
  WHERE t.run_id = ANY (ARRAY[asked.run_id]) AND t.task_id = asked.task_id AND t.namespace = asked.namespace
) t
