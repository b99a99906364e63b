-- Locks whose holders are gone, the oldest first and so many at once that no statement takes long.
DELETE FROM baton.run_locks l
WHERE l.ctid = ANY (ARRAY(
  SELECT e.ctid
  FROM baton.run_locks e
  WHERE e.expires_at < (SELECT baton.now())
  ORDER BY e.expires_at
  LIMIT :limit::integer
  FOR UPDATE SKIP LOCKED
))
RETURNING true
