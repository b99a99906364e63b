-- Takes a lock that nobody holds, by the database clock. No row back = somebody holds it. The same token again = a
-- repeat of a call whose answer was lost.
INSERT INTO baton.run_locks AS l (key, token, expires_at)
SELECT :key::text, :token::uuid, c.now + :ttlMs::bigint * interval '1 millisecond'
FROM (SELECT baton.now() AS now OFFSET 0) c
ON CONFLICT (key) DO UPDATE SET token = excluded.token, expires_at = excluded.expires_at
WHERE l.token = excluded.token OR l.expires_at < (SELECT baton.now())
RETURNING true
