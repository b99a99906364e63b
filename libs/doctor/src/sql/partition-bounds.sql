-- The least value that a table still has a partition for: what is older has been dropped.
SELECT p.relname AS relation, pg_get_expr(c.relpartbound, c.oid) AS bound
FROM pg_inherits i
JOIN pg_class p ON p.oid = i.inhparent
JOIN pg_namespace n ON n.oid = p.relnamespace
JOIN pg_class c ON c.oid = i.inhrelid
WHERE n.nspname = 'baton' AND p.relname IN ('workflow_runs', 'outbox')
