import type { BufferedSignal, ExpiredSignal, JsonText, LeaseFacts, Loaded, Needs } from '@baton/core';
import type { TaskPayloads, TimerRow } from '@baton/core';
import type { KnownPayloads } from '../caches/run-cache.js';
import { isCleared, type RunFold } from './run-fold.js';

/**
 * What one run's decisions of this batch have learned from the database (or the cache), as it stood before the batch.
 * `view` lays the batch's own pending effects over it (R3).
 */
export class RunFacts {
  private input: JsonText | null | undefined;
  private readonly payloads = new Map<string, KnownPayloads>();
  private readonly leases = new Map<string, LeaseFacts | undefined>();
  private readonly signals = new Map<string, readonly BufferedSignal[]>();
  private readonly knownSignals = new Map<string, { readonly payloadHash: string } | undefined>();
  private readonly timers = new Map<string, TimerRow | undefined>();
  private expiredSignals: readonly ExpiredSignal[] | undefined;
  private cachedPayloads: ReadonlyMap<string, KnownPayloads> = new Map();

  /** What the cache knows of the run's texts. */
  preset(input: JsonText | null | undefined, payloads: ReadonlyMap<string, KnownPayloads>): void {
    this.input = input;
    this.cachedPayloads = payloads;
  }

  get runInput(): JsonText | null | undefined {
    return this.input;
  }

  /** The database's answer to `needs`. What was asked for and is not in it does not exist. */
  learn(needs: Needs, loaded: Loaded): void {
    if (needs.runInput === true) this.input = loaded.runInput ?? null;
    for (const taskId of needs.payloads ?? []) {
      this.payloads.set(taskId, loaded.payloads?.get(taskId) ?? { input: null, output: null });
    }
    for (const taskId of needs.leases ?? []) this.leases.set(taskId, loaded.leases?.get(taskId));
    for (const name of needs.signals ?? []) this.signals.set(name, loaded.signals?.get(name) ?? []);
    for (const signalId of needs.knownSignals ?? []) {
      this.knownSignals.set(signalId, loaded.knownSignals?.get(signalId));
    }
    if (needs.expiredSignals === true) this.expiredSignals = loaded.expiredSignals ?? [];
    for (const timerId of needs.timers ?? []) this.timers.set(timerId, loaded.timers?.get(timerId));
  }

  /** The part of `needs` that only the database can answer; null = all of it is here. */
  missing(needs: Needs, fold: RunFold): Needs | null {
    const lacks = {
      payloads: needs.payloads?.filter((taskId) => this.payloadsOf(taskId, fold) === undefined) ?? [],
      leases: needs.leases?.filter((taskId) => !this.leases.has(taskId) && !isBornHere(taskId, fold)) ?? [],
      signals: needs.signals?.filter((name) => !this.signals.has(name)) ?? [],
      knownSignals: needs.knownSignals?.filter((id) => !this.knownSignals.has(id) && !isInserted(id, fold)) ?? [],
      timers: needs.timers?.filter((id) => !this.timers.has(id) && !fold.timers.has(id)) ?? [],
    };
    const runInput = needs.runInput === true && this.input === undefined && fold.input === undefined;
    const expiredSignals = needs.expiredSignals === true && this.expiredSignals === undefined;
    const some = runInput || expiredSignals || Object.values(lacks).some((ids) => ids.length > 0);
    if (!some) return null;
    return { ...lacks, ...(runInput ? { runInput } : {}), ...(expiredSignals ? { expiredSignals } : {}) };
  }

  /** Answers `needs` as one transaction for each event would: what is pending comes first. */
  view(needs: Needs, fold: RunFold): Loaded {
    return {
      ...(needs.runInput === true ? { runInput: fold.input ?? this.input ?? null } : {}),
      ...(needs.payloads === undefined ? {} : { payloads: this.viewPayloads(needs.payloads, fold) }),
      ...(needs.leases === undefined ? {} : { leases: this.viewLeases(needs.leases, fold) }),
      ...(needs.signals === undefined ? {} : { signals: this.viewSignals(needs.signals, fold) }),
      ...(needs.knownSignals === undefined ? {} : { knownSignals: this.viewKnown(needs.knownSignals, fold) }),
      ...(needs.expiredSignals === true ? { expiredSignals: this.viewExpired(fold) } : {}),
      ...(needs.timers === undefined ? {} : { timers: this.viewTimers(needs.timers, fold) }),
    };
  }

  private payloadsOf(taskId: string, fold: RunFold): TaskPayloads | null | undefined {
    const pending = fold.tasks.pending(taskId);
    if (pending?.op === 'insert') return { input: pending.input ?? null, output: pending.output ?? null };
    const stored = this.payloads.get(taskId) ?? this.cachedPayloads.get(taskId);
    const input = pending?.input !== undefined ? pending.input : stored?.input;
    const output = pending?.output !== undefined ? pending.output : stored?.output;
    return input === undefined || output === undefined ? undefined : { input, output };
  }

  private viewPayloads(ids: readonly string[], fold: RunFold): Map<string, TaskPayloads> {
    const view = new Map<string, TaskPayloads>();
    for (const taskId of ids) {
      const found = this.payloadsOf(taskId, fold);
      if (found != null && fold.state.tasks.has(taskId)) view.set(taskId, found);
    }
    return view;
  }

  private viewLeases(ids: readonly string[], fold: RunFold): Map<string, LeaseFacts> {
    const view = new Map<string, LeaseFacts>();
    for (const taskId of ids) {
      const facts = isBornHere(taskId, fold) ? newFacts(taskId, fold) : this.leases.get(taskId);
      if (facts !== undefined) view.set(taskId, facts);
    }
    return view;
  }

  private viewSignals(names: readonly string[], fold: RunFold): Map<string, readonly BufferedSignal[]> {
    const view = new Map<string, readonly BufferedSignal[]>();
    for (const name of names) {
      const stored = (this.signals.get(name) ?? []).filter((signal) => !fold.signals.has(signal.signalId));
      const fresh: BufferedSignal[] = [];
      // Pending ones arrived after all that are stored: FIFO holds.
      for (const signal of fold.signals.values()) {
        if (signal.name !== name || signal.op !== 'insert-buffered') continue;
        const { signalId, payload, payloadHash } = signal;
        if (payload !== null && payloadHash !== null) fresh.push({ signalId, name, payload, payloadHash });
      }
      view.set(name, fresh.length === 0 ? stored : [...stored, ...fresh]);
    }
    return view;
  }

  /** Those that an event of this batch took, or dropped, are gone. */
  private viewExpired(fold: RunFold): readonly ExpiredSignal[] {
    return (this.expiredSignals ?? []).filter(({ signalId }) => !fold.signals.has(signalId));
  }

  private viewKnown(ids: readonly string[], fold: RunFold): Map<string, { readonly payloadHash: string }> {
    const view = new Map<string, { readonly payloadHash: string }>();
    for (const signalId of ids) {
      const hash = fold.signals.get(signalId)?.payloadHash ?? this.knownSignals.get(signalId)?.payloadHash;
      if (hash !== undefined) view.set(signalId, { payloadHash: hash });
    }
    return view;
  }

  private viewTimers(ids: readonly string[], fold: RunFold): Map<string, TimerRow> {
    const view = new Map<string, TimerRow>();
    for (const timerId of ids) {
      const pending = fold.timers.get(timerId);
      const stored = this.timers.get(timerId);
      if (pending !== undefined) view.set(timerId, { ...pending, due: false });
      else if (stored !== undefined && !fold.clearTimers.some((which) => isCleared(stored, which))) {
        view.set(timerId, stored);
      }
    }
    return view;
  }
}

function isInserted(signalId: string, fold: RunFold): boolean {
  return fold.signals.get(signalId)?.payloadHash != null;
}

/** The pending write begins this attempt: what it leases is known, and no instant can have passed. */
function isBornHere(taskId: string, fold: RunFold): boolean {
  const pending = fold.tasks.pending(taskId);
  return pending !== undefined && (pending.op === 'insert' || pending.wake.kind === 'dispatch');
}

function newFacts(taskId: string, fold: RunFold): LeaseFacts {
  const wake = fold.tasks.pending(taskId)?.wake;
  const lease = wake?.kind === 'dispatch' ? wake.lease : null;
  return lease === null ? notYetLeased : { ...notYetLeased, leaseId: lease.leaseId, leaseOwner: lease.owner };
}

const notYetLeased: LeaseFacts = {
  leaseId: null,
  leaseOwner: null,
  leaseExpired: false,
  startToClosePassed: false,
  scheduleToStartPassed: false,
  scheduleToClosePassed: false,
  redispatchDue: false,
  backoffOver: false,
  cutOffOver: false,
};
