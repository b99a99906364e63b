-- R9: under the run's lock, locks the task rows too, so that no worker can acquire between this and the write.
-- include parts/lease-facts.sql
  FOR NO KEY UPDATE
) t
