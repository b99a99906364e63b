-- Below it every transaction has ended: where a reader of events stands that has read everything.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon
