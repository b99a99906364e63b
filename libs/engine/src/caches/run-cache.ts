import type { JsonText, RunState } from '@baton/core';
import { BoundedMap } from './bounded-map.js';

/**
 * States of live runs as this process committed them last, with what is cheap to keep beside them.
 *
 * Owns: nothing that is true. The write proves the version, so a state that another process has overtaken costs
 * one miss. What commits nothing is never answered from here: it is decided again on a fresh read.
 * R3: any abort, error or unknown outcome evicts every run of the batch.
 */
export interface CachedRun {
  readonly state: RunState;
  readonly traceparent: string | null;
  /** undefined = not known here. */
  readonly input: JsonText | null | undefined;
  /** By task id. Each half is final once it is known: rows get their input and their output once. */
  readonly payloads: ReadonlyMap<string, KnownPayloads>;
}

export interface KnownPayloads {
  readonly input: JsonText | null | undefined;
  readonly output: JsonText | null | undefined;
}

/** One lease is granted for an attempt, once (R9): remembered by the attempt, it cannot go stale either. */
interface KnownLease {
  readonly attempt: number;
  readonly leaseId: string;
}

interface Entry extends CachedRun {
  readonly payloads: Map<string, KnownPayloads>;
  readonly leases: Map<string, KnownLease>;
  readonly payloadBytes: number;
}

const bytesOfRun = 600;
const bytesOfTask = 500;
/** Larger texts are read again when they are asked for. */
const largestText = 16 * 1024;

/**
 * A state that another process has overtaken costs a miss: a write for nothing, then the read that it was to save. So
 * the cache is used while it is right more often than wrong, and else only now and then, to see whether that changed.
 */
const mostTrust = 16;
const leastTrust = 4;
const probeEvery = 16;

export class RunCache {
  private readonly entries: BoundedMap<Entry>;
  private trust = mostTrust / 2;
  private uses = 0;

  constructor(private readonly capacityBytes: number) {
    this.entries = new BoundedMap(capacityBytes);
  }

  get(namespace: string, runId: string): CachedRun | undefined {
    const entry = this.entries.get(runId);
    if (entry?.state.namespace !== namespace) return undefined;
    this.uses += 1;
    return this.trust >= leastTrust || this.uses % probeEvery === 0 ? entry : undefined;
  }

  /** Is it known here as a run that goes on? Another process may know better. */
  isLive(namespace: string, runId: string): boolean {
    return this.entries.get(runId)?.state.namespace === namespace;
  }

  /** What is known of its tasks' payloads, by task id. */
  payloadsOf(runId: string): ReadonlyMap<string, KnownPayloads> | undefined {
    return this.entries.get(runId)?.payloads;
  }

  /** Was a state of the cache still current when it was written on? */
  learn(wasCurrent: boolean): void {
    this.trust = wasCurrent ? Math.min(mostTrust, this.trust + 1) : Math.max(0, this.trust - 1);
  }

  /** `payloads` holds what is newly known; what was known before stays. */
  put(run: CachedRun): void {
    if (this.capacityBytes === 0) return;
    const { runId } = run.state;
    const before = this.entries.get(runId);
    const leases = before?.leases ?? new Map<string, KnownLease>();
    for (const [taskId, lease] of leases) {
      if (run.state.tasks.get(taskId)?.attempt !== lease.attempt) leases.delete(taskId);
    }
    const payloads = before?.payloads ?? new Map<string, KnownPayloads>();
    const payloadBytes = (before?.payloadBytes ?? 0) + merge(payloads, run.payloads);
    const input = small(run.input === undefined ? before?.input : run.input);
    const size = bytesOfRun + run.state.tasks.size * bytesOfTask + payloadBytes + 2 * (input?.length ?? 0);
    this.entries.set(
      runId,
      { state: run.state, traceparent: run.traceparent, input, payloads, leases, payloadBytes },
      size,
    );
  }

  rememberLease(runId: string, taskId: string, lease: KnownLease): void {
    this.entries.get(runId)?.leases.set(taskId, lease);
  }

  /** The lease that this attempt was granted, if it was granted here. */
  leaseOf(runId: string, taskId: string, attempt: number): string | undefined {
    const lease = this.entries.get(runId)?.leases.get(taskId);
    return lease !== undefined && lease.attempt === attempt ? lease.leaseId : undefined;
  }

  evict(runId: string): void {
    this.entries.delete(runId);
  }
}

function small(text: JsonText | null | undefined): JsonText | null | undefined {
  return text != null && text.length > largestText ? undefined : text;
}

/** Adds what is known; answers how many bytes came to it. */
function merge(into: Map<string, KnownPayloads>, from: ReadonlyMap<string, KnownPayloads>): number {
  let bytes = 0;
  for (const [taskId, fresh] of from) {
    const old = into.get(taskId);
    // What is newly written replaces what was known, also when it is too large to be kept: then it is not known.
    const input = fresh.input === undefined ? old?.input : small(fresh.input);
    const output = fresh.output === undefined ? old?.output : small(fresh.output);
    into.set(taskId, { input, output });
    bytes +=
      2 * ((input?.length ?? 0) + (output?.length ?? 0) - (old?.input?.length ?? 0) - (old?.output?.length ?? 0));
  }
  return bytes;
}
