-- The schema of Baton. Runs on PostgreSQL 14 to 18, without superuser and without logical decoding
-- (the publication is a migration set of its own, R29).
--
-- No foreign keys among hot tables (R7): rows of one run are written under the run's row lock.
-- Lock order everywhere: run_keys, then workflow_runs by run_id, then task_instances by (run, node, item).

-- Schema `baton` is made by the runner, before its own table of applied migrations.

-- The clock that rules leases, timers and deadlines (R27): the real time, not the transaction's start.
-- Use it as (SELECT baton.now()): evaluated once a statement, and usable as an index bound.
-- Tests replace this function to move the time.
CREATE FUNCTION baton.now() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$ SELECT clock_timestamp() $$;

-- Raised by the write statement when a fenced row was not as the decision saw it (R1): nothing of the
-- statement stays. DETAIL names the runs, so that the others of the batch can go on.
CREATE FUNCTION baton.raise_fence_miss(runs text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION 'fence miss' USING ERRCODE = 'BT001', DETAIL = runs;
END $$;

-- ---------------------------------------------------------------- words and numbers

-- The last line of the core: a bug must not store a word or a number that nothing can read. As domains, not as CHECKs
-- of the tables: a table's CHECKs are parsed anew by every statement that writes it, which was a third of the time of a
-- single report; a domain's are kept by the session.
CREATE DOMAIN baton.tally AS integer CHECK (VALUE >= 0);
CREATE DOMAIN baton.ordinal AS integer CHECK (VALUE >= 1);
CREATE DOMAIN baton.route AS text CHECK (VALUE IN ('kafka', 'local'));
CREATE DOMAIN baton.run_status AS text CHECK (VALUE IN ('RUNNING', 'COMPENSATING', 'SUCCEEDED', 'FAILED', 'COMPENSATED',
  'COMPENSATION_FAILED', 'EXPIRED', 'CANCELLED'));
CREATE DOMAIN baton.run_cause AS text CHECK (VALUE IN ('failure', 'cancel', 'deadline'));
CREATE DOMAIN baton.undo_result AS text CHECK (VALUE IN ('NONE', 'CLEAN', 'FAILED'));
CREATE DOMAIN baton.task_kind AS text CHECK (VALUE IN ('forward', 'compensate'));
CREATE DOMAIN baton.task_status AS text CHECK (VALUE IN ('SCHEDULED', 'BACKOFF', 'WAITING', 'HELD', 'PLANNED',
  'SUCCEEDED', 'FAILED', 'TIMED_OUT', 'SKIPPED', 'CANCELLED'));
CREATE DOMAIN baton.signal_status AS text CHECK (VALUE IN ('BUFFERED', 'CONSUMED'));
CREATE DOMAIN baton.timer_kind AS text CHECK (VALUE IN ('wait-timeout', 'run-deadline', 'compensation-timeout'));

-- ---------------------------------------------------------------- definitions

CREATE TABLE baton.workflow_definitions (
  namespace    text        NOT NULL,
  id           text        NOT NULL,
  version      integer     NOT NULL CHECK (version >= 1),
  -- The definition as published, byte for byte.
  spec         text        NOT NULL,
  -- sha256 over canonical JSON: same content = no-op.
  content_hash text        NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Hidden from lists; still loads for runs in flight.
  deleted_at   timestamptz,
  PRIMARY KEY (namespace, id, version)
);

CREATE TABLE baton.deployed_definitions (
  namespace   text        NOT NULL,
  id          text        NOT NULL,
  version     integer     NOT NULL,
  deployed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (namespace, id),
  FOREIGN KEY (namespace, id, version) REFERENCES baton.workflow_definitions (namespace, id, version)
);

-- ---------------------------------------------------------------- runs

-- The hot row: narrow, and no index on a column that changes with every event, so updates stay HOT (R35).
CREATE TABLE baton.workflow_runs (
  run_id             uuid              NOT NULL,
  namespace          text              NOT NULL,
  definition_id      text              NOT NULL,
  definition_version integer           NOT NULL,
  route              baton.route       NOT NULL,
  status             baton.run_status  NOT NULL,
  cause              baton.run_cause,
  undo               baton.undo_result NOT NULL DEFAULT 'NONE',
  epoch              baton.ordinal     NOT NULL DEFAULT 1,
  -- +1 for each committed batch that touches the run: the fence of every write.
  version            bigint            NOT NULL DEFAULT 1,
  journal_seq        bigint            NOT NULL DEFAULT 0,
  outbox_seq         bigint            NOT NULL DEFAULT 0,
  buffered_signals   baton.tally       NOT NULL DEFAULT 0,
  -- Id of the batch that wrote last: tells after a lost COMMIT answer whether it took place (R6).
  last_commit        uuid,
  root_run_id        uuid              NOT NULL,
  parent_run_id      uuid,
  -- W3C trace context of the start; goes on with every outbox row.
  traceparent        text,
  failure_code       text,
  failure_message    text,
  failure_node       text,
  -- R8: decide itself failed on this run; a person must look.
  stuck_reason       text,
  started_at         timestamptz       NOT NULL,
  ended_at           timestamptz,
  PRIMARY KEY (run_id),
  CHECK ((status IN ('RUNNING', 'COMPENSATING')) = (ended_at IS NULL))
) PARTITION BY RANGE (run_id);

-- The condition is true of every row; lists repeat it. Without it the planner may also take these indexes to look a
-- run up by its id while a partition is empty (all indexes cost the same then), and would go on with that plan when
-- the partition has filled. With it the primary key is the only index there is for the hot path (R36).
CREATE INDEX workflow_runs_list ON baton.workflow_runs (namespace, run_id) WHERE namespace <> '';
CREATE INDEX workflow_runs_by_status ON baton.workflow_runs (namespace, status, run_id) WHERE namespace <> '';

-- Wide columns, off the hot path.
CREATE TABLE baton.run_payloads (
  run_id            uuid   NOT NULL,
  namespace         text   NOT NULL,
  -- JSON text, byte for byte.
  input             text,
  output            text,
  search_attributes jsonb,
  idempotency_key   text,
  business_key      text,
  PRIMARY KEY (run_id)
) PARTITION BY RANGE (run_id);

CREATE INDEX run_payloads_business_key ON baton.run_payloads (namespace, business_key, run_id)
  WHERE business_key IS NOT NULL;

-- ---------------------------------------------------------------- tasks

CREATE TABLE baton.task_instances (
  run_id               uuid              NOT NULL,
  task_id              uuid              NOT NULL,
  namespace            text              NOT NULL,
  node_id              text              NOT NULL,
  item                 baton.tally       NOT NULL DEFAULT 0,
  kind                 baton.task_kind   NOT NULL,
  generation           baton.ordinal     NOT NULL,
  -- Decided status. A SCHEDULED row with a lease is shown as RUNNING (R9).
  status               baton.task_status NOT NULL,
  attempt              baton.tally       NOT NULL DEFAULT 0,
  failures             baton.tally       NOT NULL DEFAULT 0,
  losses               baton.tally       NOT NULL DEFAULT 0,
  redispatches         baton.tally       NOT NULL DEFAULT 0,
  unknown_outcome      boolean           NOT NULL DEFAULT false,
  cut_off              boolean           NOT NULL DEFAULT false,
  report_hash          text,
  settled_seq          bigint,
  failure_code         text,
  failure_message      text,
  failure_node         text,
  route                baton.route       NOT NULL,
  queue                text,
  handler              text,
  input                text,
  output               text,
  -- Durations of the current attempt, in ms.
  start_to_close_ms    bigint,
  heartbeat_ms         bigint,
  -- Instants, by the database clock.
  created_at           timestamptz       NOT NULL,
  dispatched_at        timestamptz,
  schedule_to_start_at timestamptz,
  redispatch_at        timestamptz,
  schedule_to_close_at timestamptz,
  backoff_until        timestamptz,
  cut_off_until        timestamptz,
  settled_at           timestamptz,
  -- The least of what can wake this row (R12).
  wake_at              timestamptz,
  -- Lease: outside the run's version (R9).
  lease_id             uuid,
  lease_owner          text,
  -- Id of the acquire call: the same owner and call get the same lease again (R10).
  lease_call           text,
  leased_at            timestamptz,
  lease_expires_at     timestamptz,
  start_to_close_at    timestamptz,
  -- Last progress that a heartbeat carried; given to the next attempt.
  progress             text,
  PRIMARY KEY (run_id, task_id),
  -- One CHECK, see the domains. A lease is whole and on a row that is out with a worker; an open row has an attempt and
  -- a wake-up (R12, I6), every other has none.
  CONSTRAINT task_instances_lease_and_wake CHECK (
    (lease_id IS NULL) = (lease_expires_at IS NULL)
    AND (lease_id IS NULL OR status = 'SCHEDULED')
    AND CASE WHEN status IN ('SCHEDULED', 'BACKOFF') THEN attempt >= 1 AND wake_at IS NOT NULL ELSE wake_at IS NULL END
  )
) PARTITION BY RANGE (run_id);

-- R15. The condition is true of every row and keeps this index out of look-ups, as with the lists of runs above.
CREATE UNIQUE INDEX task_instances_identity ON baton.task_instances (run_id, node_id, item, kind, generation)
  WHERE item >= 0;
CREATE INDEX task_instances_wake ON baton.task_instances (wake_at) WHERE wake_at IS NOT NULL;

-- ---------------------------------------------------------------- journal, signals

CREATE TABLE baton.run_journal (
  run_id    uuid        NOT NULL,
  seq       bigint      NOT NULL,
  namespace text        NOT NULL,
  epoch     integer     NOT NULL,
  kind      text        NOT NULL,
  node_id   text,
  task_id   uuid,
  task_kind text,
  attempt   integer,
  code      text,
  detail    text,
  at        timestamptz NOT NULL,
  PRIMARY KEY (run_id, seq)
) PARTITION BY RANGE (run_id);

CREATE TABLE baton.signals (
  run_id       uuid                NOT NULL,
  signal_id    text                NOT NULL,
  namespace    text                NOT NULL,
  name         text                NOT NULL,
  payload      text                NOT NULL,
  payload_hash text                NOT NULL,
  status       baton.signal_status NOT NULL,
  -- Order of arrival: FIFO per name.
  seq          bigint              NOT NULL,
  received_at  timestamptz         NOT NULL,
  expires_at   timestamptz,
  consumed_by  uuid,
  PRIMARY KEY (run_id, signal_id)
) PARTITION BY RANGE (run_id);

-- ---------------------------------------------------------------- timers, keys

CREATE TABLE baton.timers (
  timer_id   uuid             NOT NULL PRIMARY KEY,
  run_id     uuid             NOT NULL,
  namespace  text             NOT NULL,
  kind       baton.timer_kind NOT NULL,
  node_id    text,
  generation integer          NOT NULL,
  due_at     timestamptz      NOT NULL,
  -- R21: how often firing it failed; due_at is pushed each time.
  failures   integer          NOT NULL DEFAULT 0
);
CREATE INDEX timers_due ON baton.timers (due_at);
CREATE INDEX timers_run ON baton.timers (run_id);

-- Idempotency keys, business keys and command ids (R24). Not partitioned by run: the key is what is unique.
CREATE TABLE baton.run_keys (
  namespace    text        NOT NULL,
  -- 'idempotency' | 'business:<definition>' | 'command'
  kind         text        NOT NULL,
  key          text        NOT NULL,
  run_id       uuid        NOT NULL,
  request_hash text        NOT NULL,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,
  PRIMARY KEY (namespace, kind, key)
);
CREATE INDEX run_keys_expiry ON baton.run_keys (expires_at) WHERE expires_at IS NOT NULL;

-- Messages from run to run (R23). Nothing writes it yet.
CREATE TABLE baton.run_inbox (
  message_id uuid        NOT NULL PRIMARY KEY,
  run_id     uuid        NOT NULL,
  namespace  text        NOT NULL,
  kind       text        NOT NULL,
  body       text        NOT NULL,
  created_at timestamptz NOT NULL
);

-- ---------------------------------------------------------------- outbox and relay

-- Insert-only. The first five columns are those of Debezium's Outbox Event Router.
CREATE TABLE baton.outbox (
  id            uuid        NOT NULL,
  aggregatetype text        NOT NULL,
  aggregateid   text        NOT NULL,
  type          text        NOT NULL,
  payload       text        NOT NULL,
  run_id        uuid        NOT NULL,
  -- Order within the run, taken under the run's row lock (I8).
  run_seq       bigint      NOT NULL,
  topic         text        NOT NULL,
  headers       text,
  traceparent   text,
  shard         smallint    NOT NULL,
  namespace     text        NOT NULL,
  created_at    timestamptz NOT NULL,
  seq           bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
  xid           xid8        NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (created_at, id)
) PARTITION BY RANGE (created_at);
CREATE INDEX outbox_seq ON baton.outbox (seq);

-- Rows that can never be published, with the reason.
CREATE TABLE baton.outbox_dead (
  id         uuid        NOT NULL PRIMARY KEY,
  run_id     uuid        NOT NULL,
  run_seq    bigint      NOT NULL,
  topic      text        NOT NULL,
  reason     text        NOT NULL,
  row_json   text        NOT NULL,
  commit_lsn pg_lsn,
  dead_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE baton.outbox_parked (
  lane    text        NOT NULL,
  id      uuid        NOT NULL,
  run_id  uuid        NOT NULL,
  run_seq bigint      NOT NULL,
  at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (lane, id)
);

CREATE TABLE baton.relay_state (
  slot_name  text        NOT NULL PRIMARY KEY,
  epoch      bigint      NOT NULL DEFAULT 0,
  owner      text,
  system_id  text,
  timeline   integer,
  end_lsn    pg_lsn,
  -- Every outbox row of a transaction that this snapshot sees is in Kafka (or dead): what a relay has to
  -- publish again, and no more, when the slot cannot tell (lost, dropped, made by somebody else).
  published_before pg_snapshot,
  -- When that snapshot was taken.
  commit_ts  timestamptz,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row a role of which one process at a time is active (timer service today).
CREATE TABLE baton.service_leases (
  role       text        NOT NULL PRIMARY KEY,
  owner      text        NOT NULL,
  epoch      bigint      NOT NULL DEFAULT 1,
  expires_at timestamptz NOT NULL
);

-- ---------------------------------------------------------------- partitions (R25)

-- Least UUIDv7 of an instant: 48 bits of unix milliseconds, the rest zero.
CREATE FUNCTION baton.uuidv7_floor(at timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;

-- Makes one partition and hangs it in. Not CREATE TABLE ... PARTITION OF: that locks the parent against everybody,
-- readers too, while ATTACH lets the parent's statements go on. NULL bounds = the DEFAULT partition.
-- A range whose rows lie in the DEFAULT partition already cannot be made: a warning, and the rows stay where they are.
CREATE FUNCTION baton.create_partition(parent text, name text, settings text, from_value text, to_value text)
RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  bounds text := CASE WHEN from_value IS NULL THEN 'DEFAULT'
    ELSE format('FOR VALUES FROM (%L) TO (%L)', from_value, to_value) END;
BEGIN
  IF to_regclass(format('baton.%I', name)) IS NOT NULL THEN
    RETURN 0;
  END IF;
  -- Identity comes from the parent: a partition with its own cannot be attached (PostgreSQL 17 and later).
  EXECUTE format('CREATE TABLE baton.%I (LIKE baton.%I INCLUDING ALL EXCLUDING IDENTITY) %s', name, parent, settings);
  EXECUTE format('ALTER TABLE baton.%I ATTACH PARTITION baton.%I %s', parent, name, bounds);
  RETURN 1;
EXCEPTION WHEN check_violation THEN
  RAISE WARNING 'partition % is missing: its rows are in the DEFAULT partition of %', name, parent;
  RETURN 0;
END $$;

-- Creates what is missing: by month for tables partitioned by run_id (this month and `ahead_months` more; the one before
-- too while ids of it may still come, which are at most a day old), by day for the outbox (today and `ahead_days` more).
-- No more than that: every statement prepares itself for every partition there is. Safe to call at any time, by anyone,
-- concurrently. Returns the number of partitions made. A DEFAULT partition everywhere catches what has no other home:
-- a row in it is a finding, not a loss.
-- The lock timeout keeps a long query from turning this call into a queue in front of every other statement.
CREATE FUNCTION baton.ensure_partitions(ahead_months integer DEFAULT 1, ahead_days integer DEFAULT 3,
  behind_months integer DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SET lock_timeout = '3s' SET timezone = 'UTC' AS $$
DECLARE
  parent text;
  settings text;
  start_at timestamptz;
  made integer := 0;
  first_month integer := -coalesce(behind_months, CASE WHEN extract(day FROM baton.now()) <= 2 THEN 1 ELSE 0 END);
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('baton.ensure_partitions'));
  FOREACH parent IN ARRAY ARRAY['workflow_runs', 'run_payloads', 'task_instances', 'run_journal', 'signals'] LOOP
    -- Room on the page for the updates of a run and the heartbeats of a task, so that they stay HOT (R35).
    settings := CASE parent WHEN 'workflow_runs' THEN 'WITH (fillfactor = 60)'
      WHEN 'task_instances' THEN 'WITH (fillfactor = 80)' ELSE '' END;
    made := made + baton.create_partition(parent, parent || '_default', settings, NULL, NULL);
    FOR month IN first_month..ahead_months LOOP
      start_at := date_trunc('month', baton.now()) + make_interval(months => month);
      made := made + baton.create_partition(parent, parent || '_' || to_char(start_at, 'YYYYMM'), settings,
        baton.uuidv7_floor(start_at)::text, baton.uuidv7_floor(start_at + interval '1 month')::text);
    END LOOP;
  END LOOP;
  made := made + baton.create_partition('outbox', 'outbox_default', '', NULL, NULL);
  FOR day IN 0..ahead_days LOOP
    start_at := date_trunc('day', baton.now()) + make_interval(days => day);
    made := made + baton.create_partition('outbox', 'outbox_' || to_char(start_at, 'YYYYMMDD'), '',
      start_at::text, (start_at + interval '1 day')::text);
  END LOOP;
  RETURN made;
END $$;
