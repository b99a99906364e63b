import { PUBLISHED_JOURNAL_KINDS, type Dag, type JournalKind, type RunState } from '@baton/core';
import type { Invariant } from '../report.js';
import { DISPATCHES, ENDS_OF_RUN, ENDS_OF_TASK } from './journal-words.js';
import { UndoReplay } from './undo-replay.js';

/** A row of journal-of-runs.sql. */
export interface JournalRow {
  readonly run_id: string;
  readonly seq: string;
  readonly epoch: number;
  readonly kind: string;
  readonly node_id: string | null;
  readonly task_id: string | null;
  readonly task_kind: string | null;
  readonly attempt: number | null;
  readonly detail: string | null;
  readonly at: string;
}

/** What the journal says of one task. */
export interface TaskTrail {
  readonly nodeId: string | null;
  readonly forward: boolean;
  lastKind: string;
  lastAttempt: number | null;
  ended: boolean;
  /** Seqs of its ends: a task row names the one of its success. */
  readonly endSeqs: number[];
}

/** A message that a journal row came with: the n-th of the run has run_seq n. */
export interface ExpectedMessage {
  readonly at: string;
  readonly type: string;
  readonly seq: number;
  readonly nodeId: string | null;
  readonly taskId: string | null;
  readonly attempt: number | null;
}

export interface Problem {
  readonly invariant: Invariant;
  readonly code: string;
  readonly message: string;
  readonly nodeId: string | null;
  /** Task id, or 'run'. */
  readonly about: string;
}

/** Takes the journal of one run row by row, in order, and keeps what the checks ask. It decides nothing. */
export class RunJournal {
  rows = 0;
  lastSeq = 0;
  missing = 0;
  firstMissing = 0;
  beyond = 0;
  reopened = 0;
  /** The last row that says which status the run has. */
  lastRunKind: string | null = null;
  readonly tasks = new Map<string, TaskTrail>();
  readonly messages: ExpectedMessage[] = [];
  readonly problems: Problem[] = [];
  readonly undos: UndoReplay;
  private readonly attempts = new Map<string, number>();
  private lastEpoch = 1;
  private begunInEpoch = 0;
  private ended = false;

  constructor(
    private readonly state: RunState,
    dag: Dag | null,
  ) {
    this.undos = new UndoReplay(dag);
  }

  /** I1: without a gap, from 1 to the run's journal_seq. */
  get broken(): boolean {
    return this.missing > 0 || this.beyond > 0;
  }

  take(row: JournalRow): void {
    const seq = Number(row.seq);
    this.rows += 1;
    if (seq > this.state.journalSeq) this.beyond += 1;
    else this.miss(this.lastSeq + 1, seq - 1);
    this.lastSeq = seq;
    if (row.epoch < this.lastEpoch) this.report('I1', 'JOURNAL_EPOCH_FALLS', `epoch ${row.epoch} at seq ${seq}`, row);
    this.lastEpoch = Math.max(this.lastEpoch, row.epoch);
    this.takeRun(row);
    if (row.task_id !== null) this.takeTask(row, seq, row.task_id);
    this.takeMessage(row, seq);
    this.undos.take(row);
  }

  /** Call once, after the last row. */
  finish(): void {
    this.miss(this.lastSeq + 1, this.state.journalSeq);
  }

  private miss(from: number, to: number): void {
    if (to < from) return;
    if (this.missing === 0) this.firstMissing = from;
    this.missing += to - from + 1;
  }

  private takeRun(row: JournalRow): void {
    // R20: what ended goes on by a retry alone.
    if (this.ended && row.kind !== 'run.reopened') {
      this.report('I4', 'JOURNAL_AFTER_END', `${row.kind} at seq ${row.seq}, after the end of the run`, row);
    }
    if (row.kind === 'run.compensation_started') {
      if (this.begunInEpoch === row.epoch) {
        this.report('I10', 'COMPENSATION_BEGUN_TWICE', `twice in epoch ${row.epoch}`, row);
      }
      this.begunInEpoch = row.epoch;
    }
    if (row.kind === 'run.reopened') this.reopened += 1;
    this.ended = ENDS_OF_RUN.has(row.kind);
    const says = this.ended || row.kind === 'run.started' || row.kind === 'run.reopened';
    if (says || row.kind === 'run.compensation_started') this.lastRunKind = row.kind;
  }

  private takeTask(row: JournalRow, seq: number, taskId: string): void {
    let trail = this.tasks.get(taskId);
    if (trail === undefined) {
      trail = {
        nodeId: row.node_id,
        forward: row.task_kind !== 'compensate',
        lastKind: row.kind,
        lastAttempt: null,
        ended: false,
        endSeqs: [],
      };
      this.tasks.set(taskId, trail);
    }
    // Only an undo is tried again after its end, by retryCompensation.
    if (trail.ended && !(row.kind === 'undo.planned' && !trail.forward)) {
      const what = `${row.kind} at seq ${seq}, after ${trail.lastKind}`;
      this.report('I5', 'DECIDED_TWICE', `the task had ended: ${what}`, row);
    }
    if (DISPATCHES.has(row.kind)) this.takeDispatch(row, taskId);
    trail.lastKind = row.kind;
    trail.lastAttempt = row.attempt;
    trail.ended = ENDS_OF_TASK.has(row.kind);
    if (trail.ended) trail.endSeqs.push(seq);
  }

  /** I5, R11: each attempt of (node, item, kind) is dispatched once, and they are counted without a gap. */
  private takeDispatch(row: JournalRow, taskId: string): void {
    const item = this.state.tasks.get(taskId)?.item ?? 0;
    const key = `${row.task_kind ?? ''} ${item} ${row.node_id ?? ''}`;
    const last = this.attempts.get(key) ?? 0;
    const attempt = row.attempt ?? 0;
    if (attempt <= last) this.report('I5', 'DISPATCHED_TWICE', `attempt ${attempt} again at seq ${row.seq}`, row);
    else if (attempt > last + 1) {
      this.report('I5', 'ATTEMPT_NOT_DISPATCHED', `attempt ${attempt} follows ${last} at seq ${row.seq}`, row);
    }
    this.attempts.set(key, Math.max(last, attempt));
  }

  private takeMessage(row: JournalRow, seq: number): void {
    const { at, node_id: nodeId, task_id: taskId, attempt } = row;
    const dispatched = DISPATCHES.has(row.kind) && this.state.route === 'kafka';
    if (!dispatched && !PUBLISHED_JOURNAL_KINDS.has(row.kind as JournalKind)) return;
    this.messages.push({ at, type: dispatched ? 'task.dispatched' : row.kind, seq, nodeId, taskId, attempt });
  }

  private report(invariant: Invariant, code: string, message: string, row: JournalRow): void {
    const ofRun = row.kind.startsWith('run.') || row.task_id === null;
    this.problems.push({ invariant, code, message, nodeId: row.node_id, about: ofRun ? 'run' : (row.task_id ?? '') });
  }
}
