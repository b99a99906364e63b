SELECT d.id FROM baton.outbox_dead d WHERE d.id = ANY ($1::uuid[])
