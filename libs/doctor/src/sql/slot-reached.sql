-- `active`: a relay streams. While it still reads rows from the table (R26) the slot's position says nothing.
SELECT coalesce((SELECT s.active AND s.confirmed_flush_lsn >= $2::pg_lsn FROM pg_replication_slots s WHERE s.slot_name = $1::text), false)
  AS reached
