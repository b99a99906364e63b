-- What the relay and its slot say, in one snapshot. to_jsonb: the columns of a slot differ between releases.
SELECT
  EXISTS (SELECT FROM pg_publication p WHERE p.pubname = $2::text) AS publication,
  s.plugin, s.database = current_database() AS ours, s.active, s.confirmed_flush_lsn::text AS confirmed, s.wal_status,
  to_jsonb(s) ->> 'invalidation_reason' AS invalidation,
  r.slot_name IS NOT NULL AS known, r.end_lsn::text AS end_lsn, r.published_before::text AS published_before,
  pg_current_snapshot()::text AS snapshot
FROM (SELECT) one
LEFT JOIN pg_replication_slots s ON s.slot_name = $1::text
LEFT JOIN baton.relay_state r ON r.slot_name = $1::text
