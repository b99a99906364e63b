import type { DueItem } from '@baton/engine';
import { integer, text } from './decode.js';
import type { Database, Row } from './pool.js';

export interface DueScan {
  /** Oldest first, at most `limit`. */
  readonly items: readonly DueItem[];
  /** How long each item has been due, by the database clock; in the order of the items. */
  readonly lateMs: readonly number[];
  /** Until the next wake-up that is not due yet, by the database clock; null = there is none. */
  readonly nextDueInMs: number | null;
}

interface Due {
  readonly item: DueItem;
  readonly dueInMs: number;
}

/** R22: without locks; whether an item is still due is decided when it is handled. */
export async function readDue(db: Database, limit: number): Promise<DueScan> {
  const [taskRows, timerRows] = await Promise.all([
    db.runRepeatable('read-due-tasks', { limit }),
    db.runRepeatable('read-due-timers', { limit }),
  ]);
  const due: Due[] = [];
  const upcoming: number[] = [];
  for (const row of taskRows) {
    if (row[0] === null) upcoming.push(integer(row[4]));
    else due.push({ item: decodeTask(row), dueInMs: integer(row[4]) });
  }
  for (const row of timerRows) {
    if (row[0] === null) upcoming.push(integer(row[3]));
    else due.push({ item: decodeTimer(row), dueInMs: integer(row[3]) });
  }
  due.sort((a, b) => a.dueInMs - b.dueInMs);
  const page = due.slice(0, limit);
  return {
    items: page.map(({ item }) => item),
    lateMs: page.map(({ dueInMs }) => Math.max(0, -dueInMs)),
    nextDueInMs: upcoming.length === 0 ? null : Math.max(0, Math.min(...upcoming)),
  };
}

function decodeTask(row: Row): DueItem {
  return {
    kind: 'task',
    namespace: text(row[0]),
    runId: text(row[1]),
    taskId: text(row[2]),
    attempt: integer(row[3]),
  };
}

function decodeTimer(row: Row): DueItem {
  return { kind: 'timer', namespace: text(row[0]), runId: text(row[1]), timerId: text(row[2]) };
}
