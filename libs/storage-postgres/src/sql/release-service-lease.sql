UPDATE baton.service_leases SET expires_at = (SELECT baton.now())
WHERE role = :role::text AND owner = :owner::text
