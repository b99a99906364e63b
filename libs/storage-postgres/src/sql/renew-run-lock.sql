-- No row back = it is not this holder's any more.
UPDATE baton.run_locks SET expires_at = (SELECT baton.now()) + :ttlMs::bigint * interval '1 millisecond'
WHERE key = :key::text AND token = :token::uuid AND expires_at >= (SELECT baton.now())
RETURNING true
