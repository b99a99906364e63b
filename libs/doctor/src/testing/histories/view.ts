import type { HistoryDatabase } from './history-database.js';

/** A run as those around it could know it. */
export interface RunView {
  readonly runId: string;
  readonly status: string;
  readonly tasks: readonly TaskView[];
  readonly timers: readonly TimerView[];
}

export interface TaskView {
  readonly taskId: string;
  readonly nodeId: string;
  readonly kind: string;
  readonly status: string;
  readonly attempt: number;
  readonly leaseId: string | null;
  readonly wakes: boolean;
  readonly due: boolean;
}

export interface TimerView {
  readonly timerId: string;
  readonly due: boolean;
}

interface Row {
  readonly run_id: string;
  readonly status: string;
  readonly tasks: readonly TaskView[] | null;
  readonly timers: readonly TimerView[] | null;
}

export async function viewRuns(
  database: HistoryDatabase,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, RunView>> {
  const rows = await database.query<Row>(VIEW, [runIds]);
  return new Map(
    rows.map(({ run_id: runId, status, tasks, timers }) => [
      runId,
      { runId, status, tasks: tasks ?? [], timers: timers ?? [] },
    ]),
  );
}

const VIEW = `
  SELECT r.run_id, r.status,
    (SELECT json_agg(json_build_object('taskId', t.task_id, 'nodeId', t.node_id, 'kind', t.kind, 'status', t.status,
        'attempt', t.attempt, 'leaseId', t.lease_id, 'wakes', t.wake_at IS NOT NULL,
        'due', coalesce(t.wake_at <= c.at, false)) ORDER BY t.node_id, t.kind, t.generation)
      FROM baton.task_instances t WHERE t.run_id = r.run_id) AS tasks,
    (SELECT json_agg(json_build_object('timerId', t.timer_id, 'due', t.due_at <= c.at)
        ORDER BY t.kind, t.node_id, t.generation)
      FROM baton.timers t WHERE t.run_id = r.run_id) AS timers
  FROM baton.workflow_runs r, public.history_clock c
  WHERE r.run_id = ANY ($1::uuid[])
`;
