import { createHash, randomUUID } from 'node:crypto';
import { decide, type Action, type Dag, type RunState, type TaskState } from '@baton/core';
import { Pool, type PoolClient } from 'pg';

export interface OpenTask {
  readonly run_id: string;
  readonly task_id: string;
  readonly node_id: string;
  readonly attempt: number;
}

/**
 * The way that the batched engine is compared with: lock the run, read it, the same `decide`, one prepared statement
 * for each kind of row, commit. The same tables and the same rows as the engine's, one transaction an event.
 */
export class OneTransactionPerEvent {
  private readonly pool: Pool;

  constructor(
    url: string,
    connections: number,
    private readonly dag: Dag,
  ) {
    this.pool = new Pool({ connectionString: url, max: connections, min: connections });
  }

  async report(task: OpenTask, output: string): Promise<void> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const run = await this.load(client, task.run_id);
      const decision = decide(
        this.dag,
        run,
        {
          type: 'NodeCompleted',
          taskId: task.task_id,
          nodeId: task.node_id,
          attempt: task.attempt,
          output,
          reportHash: createHash('sha256').update(output).digest('hex'),
        },
        { newId: uuidv7, random: () => 0.5, loaded: {} },
      );
      if (decision.kind !== 'applied') throw new Error(`not applied: ${JSON.stringify(decision)}`);
      await this.persist(client, run, decision.state, decision.actions);
      await client.query('COMMIT');
    } finally {
      client.release();
    }
  }

  close(): Promise<void> {
    return this.pool.end();
  }

  private async load(client: PoolClient, runId: string): Promise<RunState> {
    const runs = await client.query({ name: 'lock', text: LOCK_RUN, values: [runId] });
    const tasks = await client.query({ name: 'tasks', text: READ_TASKS, values: [runId] });
    const row = runs.rows[0] as Record<string, unknown>;
    const states = (tasks.rows as TaskState[]).map((task) => [task.taskId, { ...task, failure: null }] as const);
    return { ...(row as unknown as RunState), failure: null, tasks: new Map(states) };
  }

  private async persist(
    client: PoolClient,
    before: RunState,
    after: RunState,
    actions: readonly Action[],
  ): Promise<void> {
    for (const action of actions) await this.writeTask(client, before, action);
    const { journal, outbox, outboxSeq } = rowsToInsert(before, actions);
    await client.query({
      name: `journal${journal.length}`,
      text: INSERT_JOURNAL(journal.length),
      values: journal.flat(),
    });
    await client.query({ name: `outbox${outbox.length}`, text: INSERT_OUTBOX(outbox.length), values: outbox.flat() });
    await client.query({
      name: 'run',
      text: UPDATE_RUN,
      values: [before.runId, before.version, after.journalSeq, outboxSeq, randomUUID()],
    });
  }

  private async writeTask(client: PoolClient, { runId, namespace }: RunState, action: Action): Promise<void> {
    if (action.type === 'CompleteTask') {
      const { taskId, attempt, output, reportHash, settledSeq } = action;
      const values = [runId, taskId, attempt, output, reportHash, settledSeq];
      await client.query({ name: 'complete', text: COMPLETE_TASK, values });
    } else if (action.type === 'DispatchTask') {
      const { taskId, nodeId, generation, queue, handler, input } = action;
      const values = [runId, taskId, namespace, nodeId, generation, queue, handler, input];
      await client.query({ name: 'dispatch', text: INSERT_TASK, values });
    }
  }
}

interface RowsToInsert {
  readonly journal: readonly unknown[][];
  readonly outbox: readonly unknown[][];
  readonly outboxSeq: number;
}

function rowsToInsert({ runId, namespace, outboxSeq }: RunState, actions: readonly Action[]): RowsToInsert {
  const journal: unknown[][] = [];
  const outbox: unknown[][] = [];
  let seq = outboxSeq;
  const publish = (topic: string, type: string, message: string): void => {
    outbox.push([uuidv7(), runId, (seq += 1), topic, type, message]);
  };
  for (const action of actions) {
    if (action.type === 'DispatchTask') {
      publish(`baton.default.tasks.${action.queue}`, 'task.dispatched', JSON.stringify({ ...action, runId }));
    } else if (action.type === 'Journal') {
      journal.push([runId, action.seq, namespace, action.kind, action.nodeId, action.taskId, action.attempt]);
      if (action.kind === 'node.succeeded') publish('baton.default.events', action.kind, JSON.stringify(action));
    }
  }
  return { journal, outbox, outboxSeq: seq };
}

const rows = (count: number, columns: number, tail: string): string =>
  Array.from(
    { length: count },
    (_, row) =>
      `(${Array.from({ length: columns }, (_ignored, column) => `$${row * columns + column + 1}`).join(', ')}${tail})`,
  ).join(', ');

const LOCK_RUN = `
  SELECT run_id AS "runId", namespace, definition_id AS "definitionId", definition_version AS "definitionVersion", route,
         status, cause, undo, epoch, version::int AS version, journal_seq::int AS "journalSeq",
         outbox_seq::int AS "outboxSeq", buffered_signals AS "bufferedSignals"
  FROM baton.workflow_runs WHERE run_id = $1 FOR NO KEY UPDATE`;
const READ_TASKS = `
  SELECT task_id AS "taskId", node_id AS "nodeId", item, kind, generation, status, attempt, failures, losses,
         redispatches, unknown_outcome AS "unknownOutcome", cut_off AS "cutOff", report_hash AS "reportHash",
         settled_seq::int AS "settledSeq"
  FROM baton.task_instances WHERE run_id = $1`;
const COMPLETE_TASK = `
  UPDATE baton.task_instances
  SET status = 'SUCCEEDED', output = $4, report_hash = $5, settled_seq = $6, settled_at = clock_timestamp(),
      wake_at = NULL, lease_id = NULL, lease_owner = NULL, lease_expires_at = NULL
  WHERE run_id = $1 AND task_id = $2 AND attempt = $3`;
const INSERT_TASK = `
  INSERT INTO baton.task_instances (run_id, task_id, namespace, node_id, kind, generation, status, attempt, route, queue,
    handler, input, start_to_close_ms, heartbeat_ms, created_at, dispatched_at, redispatch_at, wake_at)
  VALUES ($1, $2, $3, $4, 'forward', $5, 'SCHEDULED', 1, 'kafka', $6, $7, $8, 3600000, 30000, clock_timestamp(),
    clock_timestamp(), clock_timestamp() + interval '5 min', clock_timestamp() + interval '5 min')`;
const INSERT_JOURNAL = (count: number): string => `
  INSERT INTO baton.run_journal (run_id, seq, namespace, kind, node_id, task_id, attempt, epoch, at)
  VALUES ${rows(count, 7, ', 1, clock_timestamp()')}`;
const INSERT_OUTBOX = (count: number): string => `
  INSERT INTO baton.outbox (id, run_id, run_seq, topic, type, payload, aggregatetype, aggregateid, shard, namespace, created_at)
  VALUES ${rows(count, 6, `, 'run', 'run', 0, 'default', clock_timestamp()`)}`;
const UPDATE_RUN = `
  UPDATE baton.workflow_runs SET version = version + 1, journal_seq = $3, outbox_seq = $4, last_commit = $5
  WHERE run_id = $1 AND version = $2`;

/** Time-ordered id, as the engine's. */
export function uuidv7(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  const random = randomUUID();
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}
