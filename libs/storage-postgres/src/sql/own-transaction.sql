SELECT pg_current_xact_id()::text AS own, pg_snapshot_xmax(pg_current_snapshot())::text AS next
