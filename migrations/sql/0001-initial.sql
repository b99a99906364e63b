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
  run_id             uuid        NOT NULL,
  namespace          text        NOT NULL,
  definition_id      text        NOT NULL,
  definition_version integer     NOT NULL,
  route              text        NOT NULL CHECK (route IN ('kafka', 'local')),
  status             text        NOT NULL CHECK (status IN ('RUNNING', 'COMPENSATING', 'SUCCEEDED', 'FAILED',
                                   'COMPENSATED', 'COMPENSATION_FAILED', 'EXPIRED', 'CANCELLED')),
  cause              text        CHECK (cause IN ('failure', 'cancel', 'deadline')),
  undo               text        NOT NULL DEFAULT 'NONE' CHECK (undo IN ('NONE', 'CLEAN', 'FAILED')),
  epoch              integer     NOT NULL DEFAULT 1 CHECK (epoch >= 1),
  -- +1 for each committed batch that touches the run: the fence of every write.
  version            bigint      NOT NULL DEFAULT 1,
  journal_seq        bigint      NOT NULL DEFAULT 0,
  outbox_seq         bigint      NOT NULL DEFAULT 0,
  buffered_signals   integer     NOT NULL DEFAULT 0 CHECK (buffered_signals >= 0),
  -- Id of the batch that wrote last: tells after a lost COMMIT answer whether it took place (R6).
  last_commit        uuid,
  root_run_id        uuid        NOT NULL,
  parent_run_id      uuid,
  failure_code       text,
  failure_message    text,
  failure_node       text,
  -- R8: decide itself failed on this run; a person must look.
  stuck_reason       text,
  started_at         timestamptz NOT NULL,
  ended_at           timestamptz,
  PRIMARY KEY (run_id),
  CHECK ((status IN ('RUNNING', 'COMPENSATING')) = (ended_at IS NULL))
) PARTITION BY RANGE (run_id);

CREATE INDEX workflow_runs_list ON baton.workflow_runs (namespace, run_id);
CREATE INDEX workflow_runs_by_status ON baton.workflow_runs (namespace, status, run_id);

-- Wide columns, off the hot path.
CREATE TABLE baton.run_payloads (
  run_id            uuid   NOT NULL,
  namespace         text   NOT NULL,
  -- JSON text, byte for byte.
  input             text,
  output            text,
  search_attributes jsonb,
  traceparent       text,
  idempotency_key   text,
  business_key      text,
  PRIMARY KEY (run_id)
) PARTITION BY RANGE (run_id);

-- ---------------------------------------------------------------- tasks

CREATE TABLE baton.task_instances (
  run_id               uuid        NOT NULL,
  task_id              uuid        NOT NULL,
  namespace            text        NOT NULL,
  node_id              text        NOT NULL,
  item                 integer     NOT NULL DEFAULT 0,
  kind                 text        NOT NULL CHECK (kind IN ('forward', 'compensate')),
  generation           integer     NOT NULL CHECK (generation >= 1),
  -- Decided status. A SCHEDULED row with a lease is shown as RUNNING (R9).
  status               text        NOT NULL CHECK (status IN ('SCHEDULED', 'BACKOFF', 'WAITING', 'HELD', 'PLANNED',
                                     'SUCCEEDED', 'FAILED', 'TIMED_OUT', 'SKIPPED', 'CANCELLED')),
  attempt              integer     NOT NULL DEFAULT 0 CHECK (attempt >= 0),
  failures             integer     NOT NULL DEFAULT 0,
  losses               integer     NOT NULL DEFAULT 0,
  redispatches         integer     NOT NULL DEFAULT 0,
  unknown_outcome      boolean     NOT NULL DEFAULT false,
  cut_off              boolean     NOT NULL DEFAULT false,
  report_hash          text,
  settled_seq          bigint,
  failure_code         text,
  failure_message      text,
  route                text        NOT NULL CHECK (route IN ('kafka', 'local')),
  queue                text,
  handler              text,
  input                text,
  output               text,
  -- Durations of the current attempt, in ms.
  start_to_close_ms    bigint,
  heartbeat_ms         bigint,
  -- Instants, by the database clock.
  created_at           timestamptz NOT NULL,
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
  UNIQUE (run_id, node_id, item, kind, generation),
  CHECK ((lease_id IS NULL) = (lease_expires_at IS NULL)),
  CHECK (lease_id IS NULL OR status = 'SCHEDULED'),
  CHECK (status NOT IN ('SCHEDULED', 'BACKOFF') OR (attempt >= 1 AND wake_at IS NOT NULL)),
  CHECK (status IN ('SCHEDULED', 'BACKOFF') OR wake_at IS NULL)
) PARTITION BY RANGE (run_id);

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
  run_id       uuid        NOT NULL,
  signal_id    text        NOT NULL,
  namespace    text        NOT NULL,
  name         text        NOT NULL,
  payload      text        NOT NULL,
  payload_hash text        NOT NULL,
  status       text        NOT NULL CHECK (status IN ('BUFFERED', 'CONSUMED')),
  -- Order of arrival: FIFO per name.
  seq          bigint      NOT NULL,
  received_at  timestamptz NOT NULL,
  expires_at   timestamptz,
  consumed_by  uuid,
  PRIMARY KEY (run_id, signal_id)
) PARTITION BY RANGE (run_id);

-- ---------------------------------------------------------------- timers, keys

CREATE TABLE baton.timers (
  timer_id   uuid        NOT NULL PRIMARY KEY,
  run_id     uuid        NOT NULL,
  namespace  text        NOT NULL,
  kind       text        NOT NULL CHECK (kind IN ('wait-timeout', 'run-deadline', 'compensation-timeout')),
  node_id    text,
  generation integer     NOT NULL,
  due_at     timestamptz NOT NULL,
  -- R21: how often firing it failed; due_at is pushed each time.
  failures   integer     NOT NULL DEFAULT 0
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

-- Rows that can never be published, with the reason (03 §6.9).
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

-- Creates what is missing: by month for tables partitioned by run_id (last month, this one, `ahead` more),
-- by day for the outbox (today and `ahead` more). Safe to call at any time, by anyone, concurrently.
-- Returns the number of partitions made. A DEFAULT partition everywhere catches what has no other home:
-- a row in it is a finding, not a loss.
CREATE FUNCTION baton.ensure_partitions(ahead_months integer DEFAULT 2, ahead_days integer DEFAULT 3) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  start_at timestamptz;
  name text;
  made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('baton.ensure_partitions'));
  FOREACH parent IN ARRAY ARRAY['workflow_runs', 'run_payloads', 'task_instances', 'run_journal', 'signals'] LOOP
    FOR month IN -1..ahead_months LOOP
      start_at := date_trunc('month', baton.now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
      start_at := (start_at AT TIME ZONE 'UTC' + make_interval(months => month)) AT TIME ZONE 'UTC';
      name := parent || '_' || to_char(start_at AT TIME ZONE 'UTC', 'YYYYMM');
      IF to_regclass('baton.' || name) IS NULL THEN
        EXECUTE format('CREATE TABLE baton.%I PARTITION OF baton.%I FOR VALUES FROM (%L) TO (%L)', name, parent,
          baton.uuidv7_floor(start_at),
          baton.uuidv7_floor((start_at AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC'));
        made := made + 1;
      END IF;
    END LOOP;
    IF to_regclass('baton.' || parent || '_default') IS NULL THEN
      EXECUTE format('CREATE TABLE baton.%I PARTITION OF baton.%I DEFAULT', parent || '_default', parent);
      made := made + 1;
    END IF;
  END LOOP;
  FOR day IN 0..ahead_days LOOP
    start_at := (date_trunc('day', baton.now() AT TIME ZONE 'UTC') + make_interval(days => day)) AT TIME ZONE 'UTC';
    name := 'outbox_' || to_char(start_at AT TIME ZONE 'UTC', 'YYYYMMDD');
    IF to_regclass('baton.' || name) IS NULL THEN
      EXECUTE format('CREATE TABLE baton.%I PARTITION OF baton.outbox FOR VALUES FROM (%L) TO (%L)', name,
        start_at, (start_at AT TIME ZONE 'UTC' + interval '1 day') AT TIME ZONE 'UTC');
      made := made + 1;
    END IF;
  END LOOP;
  IF to_regclass('baton.outbox_default') IS NULL THEN
    CREATE TABLE baton.outbox_default PARTITION OF baton.outbox DEFAULT;
    made := made + 1;
  END IF;
  RETURN made;
END $$;


