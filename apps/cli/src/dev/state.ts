import { mkdirSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isRunning, readJson, type ProcessIdentity } from '@baton/local-stack';
import type { Layout } from './layout.js';

export interface RecordedProcess {
  readonly name: string;
  readonly identity: ProcessIdentity;
  readonly restarts: number;
  readonly logFile: string;
  /** Where /readyz answers; absent for PostgreSQL, Kafka and the worker fleet. */
  readonly adminPort?: number;
}

export interface PlatformAddresses {
  readonly gateway: string;
  readonly coordinator: string;
  readonly registry: string;
  readonly databaseUrl: string;
  readonly brokers: string;
}

/** Library mode: one service with the embedded runtime in it, and its database. */
export interface LibraryAddresses {
  readonly embeddedSaga: string;
  readonly databaseUrl: string;
}

export type Addresses = PlatformAddresses | LibraryAddresses;

export function isLibrary(addresses: Addresses): addresses is LibraryAddresses {
  return 'embeddedSaga' in addresses;
}

export type Phase = 'starting' | 'demo' | 'up' | 'stopping';

/**
 * What the supervisor knows, written at every change. An `up` that is killed cannot clean up: the next one finds
 * here which processes are ours, each with pid, start time and a part of its command line.
 */
export interface PlatformState {
  readonly supervisor: ProcessIdentity;
  readonly phase: Phase;
  readonly startedAt: string;
  readonly addresses?: Addresses;
  readonly processes: readonly RecordedProcess[];
}

export function readState(layout: Layout): PlatformState | undefined {
  const state = readJson<PlatformState>(layout.stateFile);
  // Written by something else, or by hand: as good as none.
  return typeof state?.supervisor?.pid === 'number' && Array.isArray(state.processes) ? state : undefined;
}

/** Renamed into place, so that a reader never sees half a file. Holds the database password: for the owner only. */
export function writeState(layout: Layout, state: PlatformState): void {
  mkdirSync(dirname(layout.stateFile), { recursive: true });
  const partial = `${layout.stateFile}.${process.pid}`;
  writeFileSync(partial, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  renameSync(partial, layout.stateFile);
}

export function removeState(layout: Layout): void {
  try {
    unlinkSync(layout.stateFile);
  } catch {
    // It is gone already.
  }
}

/** The platform that is up now; undefined when its supervisor does not live. */
export function runningPlatform(layout: Layout): PlatformState | undefined {
  const state = readState(layout);
  return state !== undefined && isRunning(state.supervisor) ? state : undefined;
}
