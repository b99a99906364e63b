-- A new run with one task, alone, with the one key that it brings. Answers whether the key was free (R24).
SELECT baton.write_start(
  :batchId::uuid, :run.runId::uuid, :run.namespace::text, :run.definitionId::text, :run.definitionVersion::integer,
  :run.route::text, :run.status::text, :run.undo::text, :run.epoch::integer, :run.journalSeq::bigint,
  :run.outboxSeq::bigint, :run.bufferedSignals::integer, :run.traceparent::text, :run.startedAtMs::bigint,
  :run.input::text, :run.idempotencyKey::text, :run.businessKey::text, :key.kind::text, :key.key::text,
  :key.requestHash::text, :key.expiresInMs::bigint, :task.taskId::uuid, :task.nodeId::text, :task.item::integer,
  :task.kind::text, :task.generation::integer, :task.attempt::integer, :task.failures::integer,
  :task.losses::integer, :task.redispatches::integer, :task.unknownOutcome::boolean, :task.cutOff::boolean,
  :task.queue::text, :task.handler::text, :task.input::text, :task.startToCloseMs::bigint, :task.heartbeatMs::bigint,
  :task.scheduleToStartMs::bigint, :task.redispatchMs::bigint, :task.scheduleToCloseMs::bigint, :task.wakeMs::bigint,
  :task.leaseId::uuid, :task.leaseOwner::text, :task.leaseTtlMs::bigint, :journal.seq::bigint[],
  :journal.kind::text[], :journal.nodeId::text[], :journal.taskId::uuid[], :journal.taskKind::text[],
  :journal.attempt::integer[], :journal.code::text[], :journal.detail::text[], :outbox.id::uuid[],
  :outbox.runSeq::bigint[], :outbox.topic::text[], :outbox.type::text[], :outbox.payload::text[],
  :outbox.traceparent::text, :outbox.shard::smallint, :timer.timerId::uuid, :timer.kind::text, :timer.nodeId::text,
  :timer.generation::integer, :timer.afterMs::bigint, :timer.fromRunStart::boolean
) AS done
