SELECT version FROM baton.deployed_definitions WHERE namespace = :namespace::text AND id = :id::text
