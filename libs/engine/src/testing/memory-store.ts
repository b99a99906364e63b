import type { BufferedSignal, ExpiredSignal, Loaded, RunStatus, TimerRow } from '@baton/core';
import { isTerminal } from '@baton/core';
import type { AcquireAnswer, AcquireLease, HeartbeatAnswer, HeartbeatCall, JournalView, ListRuns } from '../api.js';
import type { ClaimableDefinition, ClaimableTask, ClaimTasks, LeasedTask } from '../api.js';
import type { RunDetails, RunPage, RunView } from '../api.js';
import { isCleared } from '../fold/run-fold.js';
import {
  FenceMissError,
  commandKey,
  type CommandRef,
  type ExistingStart,
  type KeyHolder,
  type LockOptions,
  type LockedSession,
  type NeedsRequest,
  type OutboxWrite,
  type RunRef,
  type RunStartWrite,
  type RunWrite,
  type StartBatch,
  type StartResult,
  type Store,
  type StoredCommand,
  type StoredRun,
  type WriteBatch,
  type WriteResult,
} from '../ports.js';
import { claimableOf, freeRows, grantOn, sameCallRows, type ClaimRow } from './memory-claims.js';
import { acquireOn, heartbeatOn } from './memory-leases.js';
import { pageOfRuns } from './memory-list.js';
import {
  applyTaskWrite,
  factsOf,
  fenceHolds,
  newTaskRow,
  type RunRow,
  type SignalRow,
  type StoredTimer,
  type TaskRow,
} from './memory-rows.js';

interface StoredKey {
  runId: string;
  requestHash: string;
}

/**
 * A store in memory, for tests of the engine alone: versions, fences, locks and answers as the database has them.
 * Every statement is one synchronous step; locks are queues. Its clock moves only when it is told to.
 */
export class MemoryStore implements Store {
  readonly runs = new Map<string, RunRow>();
  readonly tasks = new Map<string, Map<string, TaskRow>>();
  readonly journal = new Map<string, JournalView[]>();
  readonly outbox: (OutboxWrite & { readonly runId: string })[] = [];
  readonly signals = new Map<string, Map<string, SignalRow>>();
  readonly timers = new Map<string, StoredTimer>();
  readonly keys = new Map<string, StoredKey>();
  readonly commands = new Map<string, StoredCommand>();
  readonly definitions = new Map<string, string>();
  readonly deployed = new Map<string, number>();
  /** How often each statement ran: what tests of round trips count. */
  readonly statements = new Map<string, number>();
  nowMs = Date.UTC(2026, 0, 1);
  private readonly runLocks = new Map<string, (() => void)[]>();
  private readonly taskLocks = new Set<string>();
  private leases = 0;

  async readRuns(refs: readonly RunRef[]): Promise<ReadonlyMap<string, StoredRun>> {
    await this.statement('readRuns');
    return this.storedRuns(refs);
  }

  async readNeeds(
    requests: readonly NeedsRequest[],
    { withLeases = false } = {},
  ): Promise<ReadonlyMap<string, Loaded>> {
    await this.statement('readNeeds');
    return new Map(requests.map((request) => [request.runId, this.loaded(request, withLeases)]));
  }

  async readCommands(refs: readonly CommandRef[]): Promise<ReadonlyMap<string, StoredCommand>> {
    await this.statement('readCommands');
    const found = new Map<string, StoredCommand>();
    for (const { runId, commandId } of refs) {
      const command = this.commands.get(commandKey(runId, commandId));
      if (command !== undefined) found.set(commandKey(runId, commandId), command);
    }
    return found;
  }

  async write(batch: WriteBatch): Promise<WriteResult> {
    await this.statement('write');
    const held = batch.runs.filter((write) => !this.runLocks.has(write.runId) && this.isCurrent(write));
    this.check(held);
    for (const write of held) this.apply(write, batch.batchId);
    return { held: new Set(held.map((write) => write.runId)) };
  }

  async writeStarts(batch: StartBatch): Promise<StartResult> {
    await this.statement('writeStarts');
    const created = new Set<string>();
    const existing = new Map<string, ExistingStart>();
    for (const start of batch.starts) {
      const inTheWay = this.inTheWay(start);
      if (inTheWay === null) {
        this.create(start, batch.batchId);
        created.add(start.write.runId);
      } else {
        existing.set(start.write.runId, inTheWay);
      }
    }
    return { created, existing };
  }

  async withLockedRuns<T>(
    refs: readonly RunRef[],
    work: (session: LockedSession) => Promise<T>,
    options?: LockOptions,
  ): Promise<T> {
    await this.statement('lockRuns');
    const asked = [...new Set(refs.map((ref) => ref.runId))].sort();
    const skipped = new Set(options?.skipLocked === true ? asked.filter((runId) => this.runLocks.has(runId)) : []);
    const ids = asked.filter((runId) => !skipped.has(runId));
    for (const runId of ids) await this.lock(runId);
    const locked: string[] = [];
    let staged: (() => void)[] = [];
    try {
      const session: LockedSession = {
        runs: this.storedRuns(refs.filter((ref) => !skipped.has(ref.runId))),
        skipped,
        keyHolders: options?.keysFirst === true ? this.keyHolders(refs) : new Map<string, KeyHolder>(),
        takeKeys: async (runs) => {
          await this.statement('takeKeys');
          staged.push(() => this.takeKeys(runs));
        },
        readNeeds: async (requests) => {
          await this.statement('readNeeds');
          for (const { needs, runId } of requests) {
            for (const taskId of needs.leases ?? []) {
              this.taskLocks.add(`${runId}/${taskId}`);
              locked.push(`${runId}/${taskId}`);
            }
          }
          return new Map(requests.map((request) => [request.runId, this.loaded(request, true)]));
        },
        readCommands: (commands) => this.readCommands(commands),
        write: async (batch) => {
          await this.statement('lockedWrite');
          const held = batch.runs.filter((write) => this.isCurrent(write));
          this.check(held);
          staged.push(() => held.forEach((write) => this.apply(write, batch.batchId)));
          return { held: new Set(held.map((write) => write.runId)) };
        },
      };
      const result = await work(session);
      await this.statement('commit');
      for (const change of staged) change();
      return result;
    } finally {
      staged = [];
      for (const key of locked) this.taskLocks.delete(key);
      for (const runId of ids) this.unlock(runId);
    }
  }

  async committedRuns(batchId: string, refs: readonly RunRef[]): Promise<ReadonlySet<string>> {
    await this.statement('committedRuns');
    return new Set(refs.map((ref) => ref.runId).filter((runId) => this.runs.get(runId)?.lastCommit === batchId));
  }

  async acquire(calls: readonly AcquireLease[]): Promise<readonly AcquireAnswer[]> {
    await this.statement('acquire');
    return calls.map((call) => {
      if (this.taskLocks.has(`${call.runId}/${call.taskId}`)) return { status: 'RETRY' };
      return acquireOn(this.rowOf(call), call, this.nowMs, this.nextLease());
    });
  }

  async heartbeat(calls: readonly HeartbeatCall[]): Promise<readonly HeartbeatAnswer[]> {
    await this.statement('heartbeat');
    return calls.map((call) =>
      this.taskLocks.has(`${call.runId}/${call.taskId}`)
        ? { status: 'RETRY' }
        : heartbeatOn(this.rowOf(call), call, this.nowMs),
    );
  }

  async claim(call: ClaimTasks): Promise<readonly LeasedTask[]> {
    await this.statement('claim');
    const same = sameCallRows(this.claimRows(), call, this.nowMs);
    const rows = same.length > 0 ? same : freeRows(this.claimRows(), call);
    return rows.map((row) => grantOn(row, call, this.nowMs, this.nextLease()));
  }

  async claimable(
    namespace: string,
    definitions: readonly ClaimableDefinition[],
    limit: number,
  ): Promise<readonly ClaimableTask[]> {
    await this.statement('claimable');
    return freeRows(this.claimRows(), { namespace, definitions, limit }).map(claimableOf);
  }

  async loadDefinition(namespace: string, id: string, version: number): Promise<string | undefined> {
    await this.statement('loadDefinition');
    return this.definitions.get(`${namespace}/${id}@${version}`);
  }

  async deployedVersion(namespace: string, id: string): Promise<number | undefined> {
    await this.statement('deployedVersion');
    return this.deployed.get(`${namespace}/${id}`);
  }

  async flagStuck(ref: RunRef, reason: string): Promise<void> {
    await this.statement('flagStuck');
    const row = this.runs.get(ref.runId);
    if (row !== undefined) row.stuckReason = reason;
  }

  async pushTimer(_namespace: string, _runId: string, timerId: string): Promise<number> {
    await this.statement('pushTimer');
    const timer = this.timers.get(timerId);
    if (timer === undefined) return 0;
    timer.failures += 1;
    timer.dueAt = this.nowMs + 1_000 * 2 ** timer.failures;
    return timer.failures;
  }

  async pushWake(_namespace: string, runId: string, taskId: string): Promise<number> {
    await this.statement('pushWake');
    const row = this.tasks.get(runId)?.get(taskId);
    if (row === undefined || row.wakeAt === null) return 0;
    row.wakeAt = this.nowMs + 1_000 * 2 ** row.wakeFailures;
    row.wakeFailures += 1;
    return row.wakeFailures;
  }

  async getRun(namespace: string, runId: string, withPayloads: boolean): Promise<RunDetails | undefined> {
    await this.statement('getRun');
    const row = this.runs.get(runId);
    if (row?.state.namespace !== namespace) return undefined;
    return this.details(row, withPayloads);
  }

  async listRuns(query: ListRuns): Promise<RunPage> {
    await this.statement('listRuns');
    return pageOfRuns([...this.runs.values()].map(viewOf), query);
  }

  async history(namespace: string, runId: string, afterSeq: number, limit: number): Promise<readonly JournalView[]> {
    await this.statement('history');
    if (this.runs.get(runId)?.state.namespace !== namespace) return [];
    return (this.journal.get(runId) ?? []).filter((entry) => entry.seq > afterSeq).slice(0, limit);
  }

  async statuses(refs: readonly RunRef[]): Promise<ReadonlyMap<string, RunStatus>> {
    await this.statement('statuses');
    const found = new Map<string, RunStatus>();
    for (const { namespace, runId } of refs) {
      const state = this.runs.get(runId)?.state;
      if (state?.namespace === namespace) found.set(runId, state.status);
    }
    return found;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** A round trip: other work of the process goes on meanwhile. */
  protected async statement(name: string): Promise<void> {
    this.statements.set(name, (this.statements.get(name) ?? 0) + 1);
    await new Promise((resolve) => setImmediate(resolve));
  }

  private storedRuns(refs: readonly RunRef[]): Map<string, StoredRun> {
    const found = new Map<string, StoredRun>();
    for (const { namespace, runId } of refs) {
      const row = this.runs.get(runId);
      if (row?.state.namespace !== namespace) continue;
      const leaseIds = new Map<string, string>();
      for (const [taskId, task] of this.tasks.get(runId) ?? []) {
        if (task.lease !== null) leaseIds.set(taskId, task.lease.leaseId);
      }
      found.set(runId, { state: row.state, leaseIds, traceparent: row.traceparent });
    }
    return found;
  }

  private loaded({ needs, runId }: NeedsRequest, withLeases: boolean): Loaded {
    const rows = this.tasks.get(runId) ?? new Map<string, TaskRow>();
    const pick = <T>(ids: readonly string[] | undefined, of: (id: string) => T | undefined): Map<string, T> => {
      const found = new Map<string, T>();
      for (const id of ids ?? []) {
        const value = of(id);
        if (value !== undefined) found.set(id, value);
      }
      return found;
    };
    return {
      ...(needs.runInput === true ? { runInput: this.runs.get(runId)?.input ?? null } : {}),
      payloads: pick(needs.payloads, (id) => {
        const row = rows.get(id);
        return row === undefined ? undefined : { input: row.input, output: row.output };
      }),
      leases: pick(withLeases ? needs.leases : [], (id) => {
        const row = rows.get(id);
        return row === undefined ? undefined : factsOf(row, this.nowMs);
      }),
      signals: pick(needs.signals, (name) => this.buffered(runId, name)),
      knownSignals: pick(needs.knownSignals, (id) => this.signals.get(runId)?.get(id)),
      timers: pick(needs.timers, (id) => this.timerRow(runId, id)),
      ...(needs.expiredSignals === true ? { expiredSignals: this.expired(runId) } : {}),
    };
  }

  private buffered(runId: string, name: string): BufferedSignal[] {
    return [...(this.signals.get(runId)?.values() ?? [])]
      .filter((row) => row.name === name && row.status === 'BUFFERED')
      .filter((row) => row.expiresAt === null || row.expiresAt > this.nowMs)
      .sort((a, b) => a.seq - b.seq)
      .map(({ signalId, payload, payloadHash }) => ({ signalId, name, payload, payloadHash }));
  }

  private expired(runId: string): ExpiredSignal[] {
    return [...(this.signals.get(runId)?.values() ?? [])].filter(
      (row) => row.status === 'BUFFERED' && row.expiresAt !== null && row.expiresAt <= this.nowMs,
    );
  }

  private timerRow(runId: string, timerId: string): TimerRow | undefined {
    const timer = this.timers.get(timerId);
    if (timer?.runId !== runId) return undefined;
    const { kind, nodeId, generation, dueAt } = timer;
    return { timerId, kind, nodeId, generation, due: dueAt <= this.nowMs };
  }

  private isCurrent(write: RunWrite): boolean {
    const state = this.runs.get(write.runId)?.state;
    return state?.namespace === write.namespace && state.version === write.expectedVersion;
  }

  /** R1: a difference raises, and nothing of the statement stays. */
  private check(writes: readonly RunWrite[]): void {
    const missed = writes.filter((write) =>
      write.tasks.some((task) => {
        const row = this.tasks.get(write.runId)?.get(task.state.taskId);
        if (task.op === 'insert') return row !== undefined;
        return row === undefined || !fenceHolds(row, task, this.nowMs);
      }),
    );
    if (missed.length > 0) throw new FenceMissError(missed.map((write) => write.runId));
  }

  private apply(write: RunWrite, batchId: string): void {
    const row = this.runs.get(write.runId);
    if (row === undefined) throw new Error(`no run ${write.runId}`);
    const tasks = this.tasks.get(write.runId) ?? new Map<string, TaskRow>();
    for (const task of write.tasks) {
      const found = tasks.get(task.state.taskId) ?? newTaskRow(task, this.nowMs);
      applyTaskWrite(found, task, this.nowMs);
      tasks.set(task.state.taskId, found);
    }
    this.tasks.set(write.runId, tasks);
    const states = new Map([...tasks].map(([taskId, task]) => [taskId, task.state]));
    row.state = { ...row.state, ...write.run, version: write.expectedVersion + 1, tasks: states };
    row.endedAt = isTerminal(write.run.status) ? (row.endedAt ?? this.nowMs) : null;
    row.lastCommit = batchId;
    row.stuckReason = null;
    if (write.payloads.input !== undefined) row.input = write.payloads.input;
    if (write.payloads.output !== undefined) row.output = write.payloads.output;
    this.applyLists(write);
    this.applySignals(write);
    this.applyTimers(write, row.startedAt);
  }

  private applyLists(write: RunWrite): void {
    const journal = this.journal.get(write.runId) ?? [];
    for (const entry of write.journal) journal.push({ ...entry, at: new Date(this.nowMs) });
    this.journal.set(write.runId, journal);
    for (const message of write.outbox) this.outbox.push({ ...message, runId: write.runId });
    for (const { commandId, requestHash } of write.commands) {
      this.commands.set(commandKey(write.runId, commandId), { requestHash });
    }
  }

  private applySignals(write: RunWrite): void {
    const rows = this.signals.get(write.runId) ?? new Map<string, SignalRow>();
    for (const signal of write.signals) {
      const { signalId, name, payload, payloadHash, seq, consumedBy } = signal;
      if (signal.op === 'consume') {
        const row = rows.get(signalId);
        if (row === undefined) throw new Error(`no signal ${signalId}`);
        row.status = 'CONSUMED';
        row.consumedBy = consumedBy;
        continue;
      }
      if (payload === null || payloadHash === null) throw new Error(`signal ${signalId} without a payload`);
      const status = signal.op === 'insert-buffered' ? 'BUFFERED' : 'CONSUMED';
      const expiresAt = signal.expiresInMs === null ? null : this.nowMs + signal.expiresInMs;
      const receivedAt = this.nowMs;
      rows.set(signalId, { signalId, name, payload, payloadHash, status, seq, receivedAt, expiresAt, consumedBy });
    }
    this.signals.set(write.runId, rows);
  }

  private applyTimers(write: RunWrite, startedAt: number): void {
    const { runId, namespace } = write;
    for (const [timerId, timer] of this.timers) {
      if (timer.runId === runId && write.clearTimers.some((which) => isCleared(timer, which))) {
        this.timers.delete(timerId);
      }
    }
    for (const { afterMs, from, ...timer } of write.timers) {
      const dueAt = (from === 'now' ? this.nowMs : startedAt) + afterMs;
      this.timers.set(timer.timerId, { ...timer, runId, namespace, dueAt, failures: 0 });
    }
  }

  private inTheWay({ write, ...start }: RunStartWrite): ExistingStart | null {
    const keyed = (reason: ExistingStart['reason'], key: StoredKey): ExistingStart => ({
      reason,
      runId: key.runId,
      requestHash: key.requestHash,
      status: this.runs.get(key.runId)?.state.status ?? 'RUNNING',
    });
    if (start.idempotencyKey !== null) {
      const key = this.keys.get(`${write.namespace}/idempotency/${start.idempotencyKey}`);
      if (key !== undefined) return keyed('idempotency-key', key);
    }
    const standing = this.runs.get(write.runId);
    if (standing !== undefined) {
      const isOurs = standing.state.namespace === write.namespace;
      return keyed('run-id', { runId: write.runId, requestHash: isOurs ? standing.requestHash : '' });
    }
    if (start.businessKey !== null) {
      const key = this.keys.get(`${write.namespace}/business:${start.definitionId}/${start.businessKey}`);
      const holder = key === undefined ? undefined : this.runs.get(key.runId);
      if (key !== undefined && holder !== undefined && !isTerminal(holder.state.status)) {
        return keyed('business-key', key);
      }
    }
    return null;
  }

  private create({ write, ...start }: RunStartWrite, batchId: string): void {
    const { namespace, runId } = write;
    const { definitionId, route, requestHash, businessKey, idempotencyKey } = start;
    const state = { ...write.run, runId, namespace, definitionId, route, version: 0, tasks: new Map() };
    this.runs.set(runId, {
      state,
      lastCommit: batchId,
      startedAt: start.startedAtMs ?? this.nowMs,
      endedAt: null,
      stuckReason: null,
      input: start.input,
      output: null,
      traceparent: start.traceparent,
      businessKey,
      requestHash,
    });
    const key = { runId, requestHash };
    if (idempotencyKey !== null) this.keys.set(`${namespace}/idempotency/${idempotencyKey}`, key);
    if (businessKey !== null) this.keys.set(`${namespace}/business:${definitionId}/${businessKey}`, { ...key });
    this.apply(write, batchId);
  }

  private keyHolders(refs: readonly RunRef[]): Map<string, KeyHolder> {
    const holders = new Map<string, KeyHolder>();
    for (const { runId } of refs) {
      const key = this.businessKeyOf(runId);
      const holder = key === undefined ? undefined : this.runs.get(key.runId);
      if (holder !== undefined && holder.state.runId !== runId) {
        holders.set(runId, { runId: holder.state.runId, status: holder.state.status });
      }
    }
    return holders;
  }

  private takeKeys(refs: readonly RunRef[]): void {
    for (const { runId } of refs) {
      const key = this.businessKeyOf(runId);
      if (key !== undefined) key.runId = runId;
    }
  }

  private businessKeyOf(runId: string): StoredKey | undefined {
    const row = this.runs.get(runId);
    if (row === undefined || row.businessKey === null) return undefined;
    return this.keys.get(`${row.state.namespace}/business:${row.state.definitionId}/${row.businessKey}`);
  }

  private rowOf(call: {
    readonly namespace: string;
    readonly runId: string;
    readonly taskId: string;
  }): TaskRow | undefined {
    if (this.runs.get(call.runId)?.state.namespace !== call.namespace) return undefined;
    return this.tasks.get(call.runId)?.get(call.taskId);
  }

  private nextLease(): string {
    this.leases += 1;
    return `00000000-0000-7000-9000-${this.leases.toString(16).padStart(12, '0')}`;
  }

  /** Rows that nobody has locked. */
  private *claimRows(): Iterable<ClaimRow> {
    for (const [runId, tasks] of this.tasks) {
      const run = this.runs.get(runId);
      if (run === undefined) continue;
      for (const [taskId, task] of tasks) if (!this.taskLocks.has(`${runId}/${taskId}`)) yield { run, task };
    }
  }

  private async lock(runId: string): Promise<void> {
    const queue = this.runLocks.get(runId);
    if (queue === undefined) this.runLocks.set(runId, []);
    else await new Promise<void>((resolve) => queue.push(resolve));
  }

  private unlock(runId: string): void {
    const next = this.runLocks.get(runId)?.shift();
    if (next === undefined) this.runLocks.delete(runId);
    else next();
  }

  private details(row: RunRow, withPayloads: boolean): RunDetails {
    const tasks = [...(this.tasks.get(row.state.runId)?.values() ?? [])].map((task) => ({
      ...task.state,
      status: task.lease === null ? task.state.status : ('RUNNING' as const),
      leaseOwner: task.lease?.owner ?? null,
      createdAt: new Date(task.createdAt),
      settledAt: task.settledAt === null ? null : new Date(task.settledAt),
      ...(withPayloads ? { input: task.input, output: task.output } : {}),
    }));
    const bufferedSignals = [...(this.signals.get(row.state.runId)?.values() ?? [])]
      .filter((signal) => signal.status === 'BUFFERED')
      .map(({ signalId, name, receivedAt }) => ({ signalId, name, receivedAt: new Date(receivedAt) }));
    return {
      run: viewOf(row),
      tasks,
      bufferedSignals,
      ...(withPayloads ? { input: row.input, output: row.output } : {}),
    };
  }
}

function viewOf(row: RunRow): RunView {
  const { runId, namespace, definitionId, definitionVersion, status, cause, undo, epoch, failure } = row.state;
  return {
    runId,
    namespace,
    definitionId,
    definitionVersion,
    status,
    cause,
    compensation: undo,
    epoch,
    failure,
    startedAt: new Date(row.startedAt),
    endedAt: row.endedAt === null ? null : new Date(row.endedAt),
    businessKey: row.businessKey,
    stuckReason: row.stuckReason,
  };
}
