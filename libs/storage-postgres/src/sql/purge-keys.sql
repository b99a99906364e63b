-- R24: keys whose time is over, the oldest first and so many at once that no statement takes long. One that a start has
-- locked stays for the next time.
DELETE FROM baton.run_keys k
WHERE k.ctid = ANY (ARRAY(
  SELECT e.ctid
  FROM baton.run_keys e
  WHERE e.expires_at <= (SELECT baton.now())
  ORDER BY e.expires_at
  LIMIT :limit::integer
  FOR UPDATE SKIP LOCKED
))
RETURNING k.kind
