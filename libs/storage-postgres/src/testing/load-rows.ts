import type { Client } from 'pg';

const RUNS = 100_000;
const OTHERS = 20_000;

/** 100,000 runs with a task each, and a fifth of that in the other hot tables, spread over three monthly partitions (and three days of outbox), and analysed. */
export async function loadRows(client: Client): Promise<void> {
  await client.query('SET synchronous_commit = off');
  await client.query('SELECT baton.ensure_partitions(1, 1, 1)');
  await client.query(
    `CREATE TEMPORARY TABLE seeds AS
     SELECT n,
       (left(baton.uuidv7_floor(month + n * interval '10 seconds')::text, 14) || '7' || substr(md5(n::text), 1, 3) || '-8'
         || substr(md5(n::text), 4, 3) || '-' || substr(md5(n::text), 7, 12))::uuid AS run_id,
       md5('task' || n)::uuid AS task_id
     FROM generate_series(1, ${RUNS}) n,
       LATERAL (SELECT date_trunc('month', clock_timestamp(), 'UTC') + make_interval(months => n % 3 - 1) AS month) m`,
  );
  for (const insert of INSERTS) await client.query(insert);
  await client.query('ANALYZE');
}

const INSERTS = [
  `INSERT INTO baton.workflow_runs (run_id, namespace, definition_id, definition_version, route, status, root_run_id,
     started_at, ended_at)
   SELECT run_id, 'default', 'order', 1, 'kafka', CASE WHEN n % 10 = 0 THEN 'RUNNING' ELSE 'SUCCEEDED' END, run_id, now(),
     CASE WHEN n % 10 <> 0 THEN now() END FROM seeds`,
  `INSERT INTO baton.run_payloads (run_id, namespace, input, business_key)
   SELECT run_id, 'default', '{}', CASE WHEN n % 100 = 0 THEN 'key ' || n END FROM seeds WHERE n <= ${OTHERS}`,
  `INSERT INTO baton.task_instances (run_id, task_id, namespace, node_id, kind, generation, status, attempt, route,
     queue, handler, created_at, dispatched_at, wake_at)
   SELECT run_id, task_id, 'default', 'reserve', 'forward', 1, CASE WHEN n % 10 = 0 THEN 'SCHEDULED' ELSE 'SUCCEEDED' END, 1,
     CASE WHEN n % 20 = 0 THEN 'local' ELSE 'kafka' END, 'orders', 'reserve', now(), now() + n * interval '1 ms',
     CASE WHEN n % 10 = 0 THEN now() + n * interval '1 second' END FROM seeds`,
  `INSERT INTO baton.run_journal (run_id, seq, namespace, epoch, kind, at)
   SELECT run_id, 1, 'default', 1, 'run.started', now() FROM seeds WHERE n <= ${OTHERS}`,
  `INSERT INTO baton.signals (run_id, signal_id, namespace, name, payload, payload_hash, status, seq, received_at)
   SELECT run_id, 'signal', 'default', 'paid', '{}', 'h', 'CONSUMED', 1, now() FROM seeds WHERE n <= ${OTHERS}`,
  `INSERT INTO baton.outbox (id, aggregatetype, aggregateid, type, payload, run_id, run_seq, topic, shard, namespace,
     created_at)
   SELECT task_id, 'run', run_id::text, 'task.dispatched', '{}', run_id, 1, 'topic', 1, 'default',
     date_trunc('day', clock_timestamp(), 'UTC') + make_interval(days => n % 3 - 1) FROM seeds WHERE n <= ${OTHERS}`,
  `INSERT INTO baton.timers (timer_id, run_id, namespace, kind, generation, due_at)
   SELECT task_id, run_id, 'default', 'run-deadline', 1, now() + n * interval '1 second' FROM seeds WHERE n <= ${OTHERS}`,
  `INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at)
   SELECT 'default', 'idempotency', 'key ' || n, run_id, 'h', now() FROM seeds WHERE n <= ${OTHERS}`,
];
