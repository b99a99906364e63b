-- Library mode only (R29): what claims and the reading of events look rows up by. A set of its own, because the Kafka
-- route needs neither, and each index is paid for by every write: the relay reads the log, not the outbox.
-- Needs no superuser and no logical decoding; new partitions get these indexes from their parents.

-- What a claim takes, queue by queue, oldest first: only tasks that are to be had. A row leaves it with the write that
-- leases or ends it, which changes wake_at (and its index) anyway; a heartbeat touches none of these columns (R35).
CREATE INDEX task_instances_claim ON baton.task_instances (namespace, queue, dispatched_at)
  WHERE route = 'local' AND status = 'SCHEDULED' AND lease_id IS NULL AND NOT cut_off;

-- Leases that claims took, by the id of the call: the same call gets them again (R10). Those that the dispatching write
-- takes have no such id.
CREATE INDEX task_instances_claimed ON baton.task_instances (lease_call)
  WHERE route = 'local' AND lease_call IS NOT NULL;

-- The order in which readers of events go: by transaction, as far as all of them have ended.
CREATE INDEX outbox_order ON baton.outbox (xid, seq);

-- Locks of runs for the leader election of the embedded runtime. They save work and keep no order (leases do), so they
-- are not logged: after a crash of the server there are none, and each run is anybody's again.
CREATE UNLOGGED TABLE baton.run_locks (
  key        text        NOT NULL PRIMARY KEY,
  -- Of one taking of the lock.
  token      uuid        NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX run_locks_expiry ON baton.run_locks (expires_at);

-- Where subscribers of events stand. A position is moved by whoever still sees the old one, so a process that is late
-- changes nothing.
CREATE TABLE baton.subscriber_positions (
  namespace   text        NOT NULL,
  subscriber  text        NOT NULL,
  -- Of the reader of events; null = before the first that is kept.
  cursor      text,
  -- The event at which the subscriber stopped, and why; both null = it goes on.
  stopped_at  uuid,
  failure     text,
  moved_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (namespace, subscriber)
);
