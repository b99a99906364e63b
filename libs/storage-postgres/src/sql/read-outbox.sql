-- The events of one namespace after a position, in an order that never grows a lower number later: the transactions below
-- the horizon have all ended, so whatever they wrote is there (W16). No lock, no row is ever taken out.
-- With no event the one row tells the horizon alone.
WITH
horizon AS MATERIALIZED (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS xid)
SELECT h.xid::text AS horizon, e.xid::text, e.seq, e.id, e.run_id, e.run_seq, e.topic, e.type, e.payload, e.traceparent,
  e.created_at
FROM horizon h
LEFT JOIN LATERAL (
  SELECT o.xid, o.seq, o.id, o.run_id, o.run_seq, o.topic, o.type, o.payload, o.traceparent, o.created_at
  FROM baton.outbox o
  WHERE o.namespace = :namespace::text
    AND (o.xid, o.seq) > (:xid::text::xid8, :seq::bigint)
    AND o.xid < h.xid
  ORDER BY o.xid, o.seq
  LIMIT :limit::integer
) e ON true
ORDER BY e.xid, e.seq
