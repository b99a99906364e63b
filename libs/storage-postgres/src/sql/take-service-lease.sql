-- Takes a role, or renews it: one row a role, by the database clock. No row back means that another owner has it.
-- A new owner gets a new epoch, also one that comes back after its lease had run out.
INSERT INTO baton.service_leases AS l (role, owner, expires_at)
SELECT :role::text, :owner::text, c.now + :ttlMs::bigint * interval '1 millisecond'
FROM (SELECT baton.now() AS now OFFSET 0) c
ON CONFLICT (role) DO UPDATE SET
  owner = excluded.owner,
  epoch = CASE WHEN l.owner = excluded.owner AND l.expires_at > (SELECT baton.now()) THEN l.epoch ELSE l.epoch + 1 END,
  expires_at = excluded.expires_at
WHERE l.owner = excluded.owner OR l.expires_at <= (SELECT baton.now())
RETURNING epoch
