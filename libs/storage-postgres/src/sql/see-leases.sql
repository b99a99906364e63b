-- R30: as they stand, without locks. The write repeats what was seen, and misses where a worker came in between.
-- include parts/lease-facts.sql
  OFFSET 0
) t
