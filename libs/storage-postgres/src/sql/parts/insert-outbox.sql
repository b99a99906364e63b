inserted_outbox AS (
  INSERT INTO baton.outbox (id, aggregatetype, aggregateid, type, payload, run_id, run_seq, topic, traceparent, shard,
    namespace, created_at)
  SELECT o.id, 'run', o.run_id::text, o.type, o.payload, o.run_id, o.run_seq, o.topic, o.traceparent, o.shard,
    o.namespace, c.now
  FROM clock c, (
    SELECT
      unnest(:outbox.ord::integer[]) AS ord,
      unnest(:outbox.id::uuid[]) AS id,
      unnest(:outbox.runId::uuid[]) AS run_id,
      unnest(:outbox.runSeq::bigint[]) AS run_seq,
      unnest(:outbox.namespace::text[]) AS namespace,
      unnest(:outbox.topic::text[]) AS topic,
      unnest(:outbox.type::text[]) AS type,
      unnest(:outbox.payload::text[]) AS payload,
      unnest(:outbox.traceparent::text[]) AS traceparent,
      unnest(:outbox.shard::smallint[]) AS shard
  ) o
  WHERE (SELECT flags FROM held)[o.ord]
)
