DELETE FROM baton.run_locks WHERE key = :key::text AND token = :token::uuid
