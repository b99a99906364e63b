-- Platform mode only (R29): what the relay's logical-replication slot reads. It must exist before the slot (R26),
-- and is never dropped while a slot lives. Inserts alone: the outbox is insert-only.
CREATE PUBLICATION baton_outbox FOR TABLE baton.outbox WITH (publish = 'insert', publish_via_partition_root = true);
