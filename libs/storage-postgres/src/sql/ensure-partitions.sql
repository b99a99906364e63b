-- R25: safe to call at any time, by several at once.
SELECT baton.ensure_partitions() AS made
