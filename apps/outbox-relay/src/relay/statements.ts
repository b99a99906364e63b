/*
 * Every statement of the relay, by name. All of them run on a plain connection, beside the stream.
 */

/** Does everything exist that the relay reads and writes? R26: the publication comes before the slot. */
export const findPublication = `
SELECT to_regclass('baton.outbox') IS NOT NULL AND to_regclass('baton.relay_state') IS NOT NULL AS migrated,
       EXISTS (SELECT FROM pg_publication WHERE pubname = $1) AS published`;

/** to_jsonb: the columns that say why a slot is lost differ between PostgreSQL 14 and 18. */
export const findSlot = `
SELECT s.plugin, s.database = current_database() AS ours, s.active, s.confirmed_flush_lsn::text AS confirmed,
       coalesce(s.wal_status = 'lost' OR to_jsonb(s) ->> 'invalidation_reason' IS NOT NULL
                OR (to_jsonb(s) ->> 'conflicting')::boolean, false) AS lost
  FROM pg_replication_slots s
 WHERE s.slot_name = $1`;

export const readRelayState = `
SELECT system_id, end_lsn::text AS end_lsn, published_before::text AS published_before, commit_ts::text AS commit_ts,
       epoch::text AS epoch
  FROM baton.relay_state
 WHERE slot_name = $1`;

/** A new active relay. Later writes of the one before it match no row any more. */
export const claimRelayState = `
INSERT INTO baton.relay_state (slot_name, epoch, owner, system_id, timeline)
VALUES ($1, 1, $2, $3, $4)
ON CONFLICT (slot_name) DO UPDATE
   SET epoch = relay_state.epoch + 1, owner = excluded.owner, timeline = excluded.timeline, updated_at = clock_timestamp(),
       system_id = excluded.system_id,
       -- Positions and transaction ids of another cluster mean nothing here.
       end_lsn = CASE WHEN relay_state.system_id = excluded.system_id THEN relay_state.end_lsn END,
       published_before = CASE WHEN relay_state.system_id = excluded.system_id THEN relay_state.published_before END
RETURNING epoch::text AS epoch`;

/**
 * Keeps how far publishing is. The snapshot of this statement is taken before the position is read: every transaction
 * that it sees has its commit record before that position, so once the position is confirmed, all of them are published.
 */
export const saveRelayState = `
UPDATE baton.relay_state
   SET end_lsn = $3::pg_lsn, published_before = $4::pg_snapshot, commit_ts = $5::timestamptz, updated_at = clock_timestamp()
 WHERE slot_name = $1 AND epoch = $2
RETURNING pg_current_snapshot()::text AS snapshot, statement_timestamp()::text AS taken_at,
          pg_current_wal_insert_lsn()::text AS position`;

export const currentSnapshot = `SELECT pg_current_snapshot()::text AS snapshot, statement_timestamp()::text AS taken_at`;

export const oldestRunningXid = `SELECT pg_snapshot_xmin(pg_current_snapshot()) >= pg_snapshot_xmax($1::pg_snapshot) AS passed`;

/**
 * Rows that may not be published: all that the reading transaction sees and the snapshot of the relay's state does not.
 * The lower bound of created_at only spares old partitions: a transaction does not stay open longer than that.
 */
export const scanOutbox = `
DECLARE unpublished NO SCROLL CURSOR FOR
SELECT id, run_id, run_seq::text AS run_seq, namespace, topic, type, payload, traceparent, headers
  FROM baton.outbox
 WHERE ($1::pg_snapshot IS NULL OR NOT pg_visible_in_snapshot(xid, $1::pg_snapshot))
   AND ($2::timestamptz IS NULL OR created_at >= $2::timestamptz - make_interval(secs => $3))
 ORDER BY seq`;

export const buryRow = `
INSERT INTO baton.outbox_dead (id, run_id, run_seq, topic, reason, row_json, commit_lsn)
VALUES ($1, $2, $3, $4, $5, $6, $7::pg_lsn)
ON CONFLICT (id) DO NOTHING`;
