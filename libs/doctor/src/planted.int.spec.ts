import { examine, type Invariant } from './index.js';
import { healthyDatabase, type Copy, type Healthy, type Story } from './testing/healthy.js';

/** A violation, planted by SQL: the run, and statements in which $run stands for its id. */
type Plant = readonly [invariant: Invariant, code: string, story: Story, ...statements: string[]];

const TASK = (node: string, kind = 'forward'): string => `run_id = '$run' AND node_id = '${node}' AND kind = '${kind}'`;
const RUN = `UPDATE baton.workflow_runs SET`;
const ROWS = `UPDATE baton.task_instances SET`;
/** What the schema itself would refuse. */
const UNGUARDED = 'ALTER TABLE baton.task_instances DROP CONSTRAINT task_instances_lease_and_wake';
/** One more row of the journal, of the same instant as the last one. */
const JOURNAL = (kind: string, node = 'NULL', task = 'NULL', attempt = 'NULL'): string =>
  `INSERT INTO baton.run_journal (run_id, seq, namespace, epoch, kind, node_id, task_id, task_kind, attempt, at)
   SELECT run_id, seq + 1, namespace, epoch, '${kind}', ${node}, ${task}, 'forward', ${attempt}, at
   FROM baton.run_journal WHERE run_id = '$run' ORDER BY seq DESC LIMIT 1`;
const COUNTED = `${RUN} journal_seq = journal_seq + 1 WHERE run_id = '$run'`;
const taskId = (node: string): string =>
  `(SELECT task_id FROM baton.task_instances WHERE ${TASK(node)} ORDER BY generation LIMIT 1)`;
/** A copy of an outbox row, with another number. */
const OUTBOX = (from: string, runSeq: string, payload = 'payload', createdAt = 'created_at'): string =>
  `INSERT INTO baton.outbox (id, aggregatetype, aggregateid, type, payload, run_id, run_seq, topic, shard, namespace, created_at)
   SELECT gen_random_uuid(), aggregatetype, aggregateid, type, ${payload}, run_id, ${runSeq}, topic, shard, namespace, ${createdAt}
   FROM baton.outbox WHERE run_id = '$run' AND ${from} ORDER BY run_seq DESC LIMIT 1`;

const plants: readonly Plant[] = [
  ['I1', 'JOURNAL_GAP', 'succeeded', `DELETE FROM baton.run_journal WHERE run_id = '$run' AND seq = 2`],
  ['I1', 'JOURNAL_BEYOND_RUN', 'succeeded', `${RUN} journal_seq = journal_seq - 1 WHERE run_id = '$run'`],
  [
    'I1',
    'JOURNAL_EPOCH_FALLS',
    'retried',
    `UPDATE baton.run_journal SET epoch = 1 WHERE run_id = '$run' AND kind = 'task.scheduled'`,
  ],
  ['I1', 'OUTBOX_GAP', 'waiting', `DELETE FROM baton.outbox WHERE run_id = '$run' AND run_seq = 2`],
  ['I1', 'OUTBOX_SEQ_TWICE', 'waiting', OUTBOX('run_seq = 2', 'run_seq')],
  ['I1', 'OUTBOX_BEYOND_RUN', 'waiting', OUTBOX('run_seq = 2', '99')],

  ['I2', 'TASK_NOT_IN_OUTBOX', 'fresh', `DELETE FROM baton.outbox WHERE run_id = '$run' AND type = 'task.dispatched'`],
  ['I2', 'END_NOT_IN_OUTBOX', 'succeeded', `DELETE FROM baton.outbox WHERE run_id = '$run' AND type = 'run.succeeded'`],
  [
    'I2',
    'OUTBOX_ROW_DIFFERS',
    'fresh',
    `UPDATE baton.outbox SET type = 'run.failed' WHERE run_id = '$run' AND run_seq = 1`,
  ],
  ['I2', 'OUTBOX_ROW_WITHOUT_CAUSE', 'fresh', OUTBOX('run_seq = 1', 'run_seq', 'payload', 'clock_timestamp()')],
  ['I2', 'OUTBOX_SEQ_DIFFERS', 'fresh', `${RUN} outbox_seq = outbox_seq + 1 WHERE run_id = '$run'`],
  ['I2', 'TASK_ROW_MISSING', 'waiting', `DELETE FROM baton.task_instances WHERE ${TASK('reserve')}`],
  [
    'I2',
    'TASK_WITHOUT_JOURNAL',
    'fresh',
    `INSERT INTO baton.task_instances (run_id, task_id, namespace, node_id, kind, generation, status, route, created_at)
     VALUES ('$run', gen_random_uuid(), 'default', 'ship', 'forward', 1, 'SKIPPED', 'kafka', now())`,
  ],
  ['I2', 'TASK_STATUS_DIFFERS', 'succeeded', `${ROWS} status = 'CANCELLED' WHERE ${TASK('ship')}`],
  ['I2', 'TASK_ATTEMPT_DIFFERS', 'succeeded', `${ROWS} attempt = 2 WHERE ${TASK('ship')}`],
  ['I2', 'SETTLED_SEQ_DIFFERS', 'succeeded', `${ROWS} settled_seq = 1 WHERE ${TASK('ship')}`],
  ['I2', 'RUN_STATUS_DIFFERS', 'failed', `${RUN} status = 'CANCELLED', cause = 'cancel' WHERE run_id = '$run'`],
  ['I2', 'BUFFERED_SIGNALS_DIFFER', 'waiting', `${RUN} buffered_signals = 2 WHERE run_id = '$run'`],
  ['I2', 'EPOCH_DIFFERS', 'failed', `${RUN} epoch = 2 WHERE run_id = '$run'`],

  [
    'I4',
    'OPEN_TASK_IN_ENDED_RUN',
    'succeeded',
    `${ROWS} status = 'SCHEDULED', report_hash = NULL, wake_at = now() + interval '1 minute' WHERE ${TASK('ship')}`,
  ],
  [
    'I4',
    'TIMER_IN_ENDED_RUN',
    'succeeded',
    `INSERT INTO baton.timers (timer_id, run_id, namespace, kind, generation, due_at)
     VALUES (gen_random_uuid(), '$run', 'default', 'run-deadline', 1, now() - interval '1 day')`,
  ],
  ['I4', 'JOURNAL_AFTER_END', 'succeeded', JOURNAL('signal.received'), COUNTED],

  [
    'I5',
    'DISPATCHED_TWICE',
    'fresh',
    JOURNAL('task.redispatched', `'reserve'`, taskId('reserve'), '1'),
    COUNTED,
    OUTBOX(`type = 'task.dispatched'`, 'run_seq + 1'),
    `${RUN} outbox_seq = outbox_seq + 1 WHERE run_id = '$run'`,
  ],
  [
    'I5',
    'ATTEMPT_NOT_DISPATCHED',
    'fresh',
    `UPDATE baton.run_journal SET attempt = 2 WHERE run_id = '$run' AND kind = 'task.scheduled'`,
    `${ROWS} attempt = 2 WHERE ${TASK('reserve')}`,
    `UPDATE baton.outbox SET payload = replace(payload, '"attempt":1', '"attempt":2') WHERE run_id = '$run'`,
  ],
  ['I5', 'DECIDED_TWICE', 'shipping', JOURNAL('node.cancelled', `'reserve'`, taskId('reserve'), '1'), COUNTED],
  [
    'I5',
    'NODE_STARTED_TWICE',
    'shipping',
    'DROP INDEX baton.task_instances_identity',
    `INSERT INTO baton.task_instances (run_id, task_id, namespace, node_id, kind, generation, status, attempt, route, created_at)
     VALUES ('$run', '00000000-0000-7000-8000-000000000001', 'default', 'reserve', 'forward', 1, 'SKIPPED', 0, 'kafka', now())`,
    JOURNAL('node.skipped', `'reserve'`, `'00000000-0000-7000-8000-000000000001'`),
    COUNTED,
  ],
  ['I5', 'OPEN_ATTEMPT_HAS_REPORT', 'fresh', `${ROWS} report_hash = 'hash' WHERE ${TASK('reserve')}`],
  ['I5', 'GENERATION_OUT_OF_RANGE', 'fresh', `${ROWS} generation = 7 WHERE ${TASK('reserve')}`],

  ['I6', 'NOTHING_WAKES_RUN', 'fresh', `${ROWS} status = 'HELD', wake_at = NULL WHERE ${TASK('reserve')}`],
  [
    'I6',
    'NODE_NOT_STARTED',
    'retried',
    `UPDATE baton.workflow_definitions SET spec = replace(spec, '"nodes":[', '"nodes":[{"id":"other","type":"task","queue":"work"},')
     WHERE id = 'single'`,
  ],
  ['I6', 'OPEN_TASK_WITHOUT_WAKE_UP', 'fresh', UNGUARDED, `${ROWS} wake_at = NULL WHERE ${TASK('reserve')}`],
  ['I6', 'WAKE_UP_TOO_LATE', 'fresh', `${ROWS} wake_at = now() + interval '1 year' WHERE ${TASK('reserve')}`],
  ['I6', 'WAKE_UP_OVERDUE', 'fresh', `${ROWS} wake_at = now() - interval '1 hour' WHERE ${TASK('reserve')}`],
  [
    'I6',
    'TIMER_OVERDUE',
    'waiting',
    `UPDATE baton.timers SET due_at = now() - interval '1 hour' WHERE run_id = '$run' AND kind = 'wait-timeout'`,
  ],
  ['I6', 'WAIT_TIMER_MISSING', 'waiting', `DELETE FROM baton.timers WHERE run_id = '$run' AND kind = 'wait-timeout'`],
  ['I6', 'RUN_DEADLINE_MISSING', 'fresh', `DELETE FROM baton.timers WHERE run_id = '$run'`],
  ['I6', 'COMPENSATION_TIMEOUT_MISSING', 'compensating', `DELETE FROM baton.timers WHERE run_id = '$run'`],

  [
    'I9',
    'LEASE_ON_CLOSED_TASK',
    'succeeded',
    UNGUARDED,
    `${ROWS} lease_id = gen_random_uuid(), lease_owner = 'ghost', leased_at = now(), lease_expires_at = now() WHERE ${TASK('ship')}`,
  ],
  ['I9', 'LEASE_NOT_WHOLE', 'leased', `${ROWS} lease_owner = NULL WHERE ${TASK('reserve')}`],
  ['I9', 'LEASE_LEFT_OVER', 'fresh', `${ROWS} lease_owner = 'ghost' WHERE ${TASK('reserve')}`],

  ['I10', 'UNDO_MISSING', 'cancelled', `${ROWS} unknown_outcome = true WHERE ${TASK('charge')}`],
  [
    'I10',
    'UNDO_NOT_CALLED_FOR',
    'compensated',
    `${ROWS} status = 'CANCELLED', settled_seq = NULL WHERE ${TASK('charge')}`,
  ],
  ['I10', 'END_DIFFERS_FROM_UNDO', 'compensated', `${RUN} undo = 'NONE' WHERE run_id = '$run'`],
  ['I10', 'FAILED_UNDO_HIDDEN', 'compensated', `${ROWS} status = 'FAILED' WHERE ${TASK('charge', 'compensate')}`],
  [
    'I10',
    'UNDO_OUT_OF_ORDER',
    'compensating',
    `${ROWS} status = 'SCHEDULED', attempt = 1, wake_at = now() + interval '1 minute' WHERE ${TASK('reserve', 'compensate')}`,
  ],
  [
    'I10',
    'COMPENSATION_BEGUN_TWICE',
    'compensating',
    JOURNAL('run.compensation_started'),
    COUNTED,
    OUTBOX(
      `type = 'run.compensation_started'`,
      `(SELECT outbox_seq + 1 FROM baton.workflow_runs WHERE run_id = '$run')`,
      `regexp_replace(payload, '"seq":[0-9]+', '"seq":' || (SELECT journal_seq FROM baton.workflow_runs WHERE run_id = '$run'))`,
    ),
    `${RUN} outbox_seq = outbox_seq + 1 WHERE run_id = '$run'`,
  ],
  ['I10', 'CAUSE_DIFFERS', 'fresh', `${RUN} cause = 'cancel' WHERE run_id = '$run'`],
  ['I10', 'UNDO_RESULT_DIFFERS', 'fresh', `${RUN} undo = 'FAILED' WHERE run_id = '$run'`],
  ['I10', 'CUT_OFF_WITHOUT_COMPENSATION', 'leased', `${ROWS} cut_off = true WHERE ${TASK('reserve')}`],

  ['I11', 'IDEMPOTENCY_KEY_MISSING', 'keyed', `DELETE FROM baton.run_keys WHERE key = 'idem-1'`],
  ['I11', 'BUSINESS_KEY_MISSING', 'keyed', `DELETE FROM baton.run_keys WHERE key = 'order-1'`],
  [
    'I11',
    'IDEMPOTENCY_KEY_USED_TWICE',
    'fresh',
    `UPDATE baton.run_payloads SET idempotency_key = 'idem-1' WHERE run_id = '$run'`,
  ],
  [
    'I11',
    'BUSINESS_KEY_USED_TWICE',
    'fresh',
    `UPDATE baton.run_payloads SET business_key = 'order-1' WHERE run_id = '$run'`,
  ],
  ['I11', 'KEY_OF_ANOTHER_RUN', 'fresh', `UPDATE baton.run_keys SET run_id = '$run' WHERE key = 'idem-1'`],

  // Of the embedded runtime (R29).
  ['I6', 'OPEN_TASK_WITHOUT_WAKE_UP', 'local', UNGUARDED, `${ROWS} wake_at = NULL WHERE ${TASK('charge')}`],
  ['I6', 'ROUTE_DIFFERS', 'local', `${ROWS} route = 'kafka' WHERE ${TASK('charge')}`],
  ['I1', 'OUTBOX_BEYOND_RUN', 'local', OUTBOX('run_seq = 2', '3')],
  ['I1', 'OUTBOX_GAP', 'local', `DELETE FROM baton.outbox WHERE run_id = '$run' AND run_seq = 2`],
  [
    'I2',
    'OUTBOX_ROW_DIFFERS',
    'local',
    `UPDATE baton.outbox SET type = 'saga.other.step_completed' WHERE run_id = '$run' AND run_seq = 2`,
  ],
  [
    'I2',
    'OUTBOX_ROW_DIFFERS',
    'local',
    `UPDATE baton.outbox SET payload = replace(payload, '"version"', '"revision"') WHERE run_id = '$run' AND run_seq = 2`,
  ],

  ['R8', 'RUN_STUCK', 'fresh', `${RUN} stuck_reason = 'decide threw' WHERE run_id = '$run'`],
  ['R8', 'TIMER_KEEPS_FAILING', 'fresh', `UPDATE baton.timers SET failures = 20 WHERE run_id = '$run'`],
];

const named = plants.map((plant) => ({ name: `${plant[0]}: ${plant[1]} (${plant[2]})`, plant }));

describe('a planted violation is found, it alone, and where it is (B46)', () => {
  let healthy: Healthy;
  let copy: Copy;

  beforeAll(async () => {
    healthy = await healthyDatabase();
  }, 120_000);
  beforeEach(async () => {
    copy = await healthy.copy();
  });
  afterEach(() => copy?.drop());
  afterAll(() => healthy?.close());

  const found = async (): Promise<unknown[]> => {
    const { findings, unable, ok } = await examine({ databaseUrl: copy.url });
    expect(unable).toEqual([]);
    expect(ok).toBe(findings.length === 0);
    return findings.map(({ invariant, code, runId }) => ({ invariant, code, runId }));
  };

  it('none in what the engine has written', async () => {
    expect(await found()).toEqual([]);
  });

  it.each(named)('$name', async ({ plant: [invariant, code, story, ...statements] }) => {
    const runId = healthy.runs[story];
    for (const statement of statements) await copy.query(statement.replaceAll('$run', runId));
    expect(await found()).toEqual([{ invariant, code, runId }]);
  });

  it('I10: UNDO_OUT_OF_ORDER, when only the journal remembers it', async () => {
    const runId = healthy.runs.compensated;
    const [undone] = await copy.query<{ seq: number; run_seq: number }>(
      `SELECT j.seq::int, o.run_seq::int FROM baton.run_journal j JOIN baton.outbox o
         ON o.run_id = j.run_id AND o.type = j.kind AND o.payload LIKE '%"seq":' || j.seq || ',%'
       WHERE j.run_id = $1 AND j.kind = 'node.compensated' AND j.node_id = 'charge'`,
      [runId],
    );
    const { seq, run_seq: runSeq } = undone!;
    // The row of the end of charge's undo and the one of the dispatch of reserve's, the other way round.
    const swaps = [
      `UPDATE baton.run_journal SET seq = -1 WHERE run_id = '$run' AND seq = ${seq}`,
      `UPDATE baton.run_journal SET seq = ${seq} WHERE run_id = '$run' AND seq = ${seq + 1}`,
      `UPDATE baton.run_journal SET seq = ${seq + 1} WHERE run_id = '$run' AND seq = -1`,
      `UPDATE baton.outbox SET run_seq = ${2 * runSeq + 1} - run_seq, payload = replace(payload, '"seq":${seq},', '"seq":${seq + 1},')
       WHERE run_id = '$run' AND run_seq IN (${runSeq}, ${runSeq + 1})`,
      `${ROWS} settled_seq = ${seq + 1} WHERE ${TASK('charge', 'compensate')}`,
    ];
    for (const swap of swaps) await copy.query(swap.replaceAll('$run', runId));
    expect(await found()).toEqual([{ invariant: 'I10', code: 'UNDO_OUT_OF_ORDER', runId }]);
  });

  it('I11: KEY_WITHOUT_RUN', async () => {
    const [key] = await copy.query<{ run_id: string }>(
      `INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at)
       SELECT namespace, 'idempotency', 'of nobody', (left(run_id::text, 24) || 'ffffffffffff')::uuid, request_hash, now()
       FROM baton.run_keys WHERE key = 'idem-1' RETURNING run_id`,
    );
    expect(await found()).toEqual([{ invariant: 'I11', code: 'KEY_WITHOUT_RUN', runId: key?.run_id }]);
  });

  it('R25: ROW_IN_DEFAULT_PARTITION', async () => {
    const runId = '00000000-0000-7000-8000-000000000001';
    await copy.query(
      `INSERT INTO baton.signals (run_id, signal_id, namespace, name, payload, payload_hash, status, seq, received_at)
       VALUES ($1, 's', 'default', 'go', '1', 'h', 'CONSUMED', 1, now())`,
      [runId],
    );
    expect(await found()).toEqual([{ invariant: 'R25', code: 'ROW_IN_DEFAULT_PARTITION', runId }]);
  });
});
