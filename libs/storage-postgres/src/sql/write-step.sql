-- A report that closes one task and dispatches one more at most, of a run that is written alone. Answers whether the run
-- was held (R7).
SELECT baton.write_step(
  :batchId::uuid, :run.runId::uuid, :run.namespace::text, :run.expectedVersion::bigint,
  :run.definitionVersion::integer, :run.status::text, :run.cause::text, :run.undo::text, :run.epoch::integer,
  :run.journalSeq::bigint, :run.outboxSeq::bigint, :run.bufferedSignals::integer, :run.failureCode::text,
  :run.failureMessage::text, :run.failureNode::text, :run.terminal::boolean, :closed.taskId::uuid,
  :closed.generation::integer, :closed.status::text, :closed.attempt::integer, :closed.failures::integer,
  :closed.losses::integer, :closed.redispatches::integer, :closed.unknownOutcome::boolean, :closed.cutOff::boolean,
  :closed.reportHash::text, :closed.settledSeq::bigint, :closed.failureCode::text, :closed.failureMessage::text,
  :closed.failureNode::text, :closed.queue::text, :closed.handler::text, :closed.setOutput::boolean,
  :closed.output::text, :task.taskId::uuid, :task.nodeId::text, :task.item::integer, :task.kind::text,
  :task.generation::integer, :task.attempt::integer, :task.failures::integer, :task.losses::integer,
  :task.redispatches::integer, :task.unknownOutcome::boolean, :task.cutOff::boolean, :task.queue::text,
  :task.handler::text, :task.input::text, :task.startToCloseMs::bigint, :task.heartbeatMs::bigint,
  :task.scheduleToStartMs::bigint, :task.redispatchMs::bigint, :task.scheduleToCloseMs::bigint, :task.wakeMs::bigint,
  :task.leaseId::uuid, :task.leaseOwner::text, :task.leaseTtlMs::bigint, :journal.seq::bigint[],
  :journal.kind::text[], :journal.nodeId::text[], :journal.taskId::uuid[], :journal.taskKind::text[],
  :journal.attempt::integer[], :journal.code::text[], :journal.detail::text[], :outbox.id::uuid[],
  :outbox.runSeq::bigint[], :outbox.topic::text[], :outbox.type::text[], :outbox.payload::text[],
  :outbox.traceparent::text, :outbox.shard::smallint, :clearsTimers::boolean, :setsResult::boolean,
  :result::text
) AS done
