import { SagaError } from '../journal/errors.js';
import type { Dispatcher, RelayHook, StartSlot } from './dispatcher.js';
import type { RuntimeParts } from './parts.js';
import { RuntimeSession } from './session.js';

export type RuntimeState = 'stopped' | 'starting' | 'running' | 'stopping';

/** How long `stop` waits for running steps unless it is told otherwise. */
export const DEFAULT_STOP_DEADLINE_MS = 30_000;

/**
 * Claims steps and runs them, in this process: stopped -> starting -> running -> stopping -> stopped, as often as wanted.
 * All instants are the database's and all durations the injected clock's.
 */
export class RuntimeCore implements Dispatcher {
  private currentState: RuntimeState = 'stopped';
  private session: RuntimeSession | undefined;
  private starting: Promise<void> = Promise.resolve();
  private stopping: Promise<void> = Promise.resolve();
  private becameReady = newSignal();

  constructor(
    private readonly parts: RuntimeParts,
    private readonly relay: RelayHook,
  ) {}

  get state(): RuntimeState {
    return this.currentState;
  }

  get isRunning(): boolean {
    return this.currentState === 'running';
  }

  /** Resolves when it runs; a new promise after each stop. Never rejects. */
  get ready(): Promise<void> {
    return this.becameReady.promise;
  }

  /** Resolves when it runs. Rejects with `ALREADY_STARTED` (conflict) unless it is stopped, or with why it cannot start. */
  start(): Promise<void> {
    if (this.currentState !== 'stopped') {
      const text = `the saga runtime is ${this.currentState} already`;
      return Promise.reject(new SagaError('conflict', 'ALREADY_STARTED', text));
    }
    this.currentState = 'starting';
    const started = this.begin();
    this.starting = started.catch(() => undefined);
    return started;
  }

  /**
   * Claims nothing more and lets running steps finish, for `deadlineMs` at most; then their signals are aborted, and
   * those that react are given back. Rejects with `SAGA_STOP_TIMEOUT` (deadline) if it came to that; the runtime is
   * stopped all the same. Stopping what is stopped is fine.
   */
  async stop(deadlineMs: number = DEFAULT_STOP_DEADLINE_MS): Promise<void> {
    if (this.currentState === 'starting') await this.starting;
    if (this.currentState === 'running') this.stopping = this.end(deadlineMs);
    if (this.currentState === 'stopping') await this.stopping;
  }

  /** Rejects with `SAGA_NOT_RUNNING` (unavailable) unless it runs, or with what is wrong with the tables. */
  async repoReady(): Promise<void> {
    this.running();
    await this.parts.journal.repoReady();
  }

  /** One look for claimable steps, now. Resolves when they have begun. */
  async tick(): Promise<{ readonly claimed: number }> {
    const { claimed } = await this.running().round();
    return { claimed };
  }

  kick(): void {
    this.session?.kick();
    this.relay.kick();
  }

  reserve(): StartSlot | null {
    return this.isRunning ? (this.session?.reserve() ?? null) : null;
  }

  private running(): RuntimeSession {
    if (this.isRunning && this.session !== undefined) return this.session;
    throw new SagaError('unavailable', 'SAGA_NOT_RUNNING', `the saga runtime is ${this.currentState}`);
  }

  private async begin(): Promise<void> {
    try {
      await this.parts.prepare();
    } catch (error) {
      this.currentState = 'stopped';
      throw error;
    }
    this.session = new RuntimeSession(this.parts, this.relay);
    this.currentState = 'running';
    this.session.start();
    this.announce();
    this.becameReady.resolve();
  }

  /** L5: without locks, processes that share a database keep order by leases alone: correct, and worth a line. */
  private announce(): void {
    const { gate, logger, config, concurrency, resolver } = this.parts;
    const sagas = resolver.all().map(({ id, version }) => `${id}@${version}`);
    const fields = { mode: gate.mode, concurrency, sagas, ...config };
    const level = gate.mode === 'leader_elect' ? 'info' : 'warn';
    logger[level](fields, 'the saga runtime has started');
  }

  private async end(deadlineMs: number): Promise<void> {
    this.currentState = 'stopping';
    this.becameReady = newSignal();
    const late = (await this.session?.stop(deadlineMs)) ?? [];
    this.session = undefined;
    this.currentState = 'stopped';
    if (late.length === 0) return this.parts.logger.info({}, 'the saga runtime has stopped');
    const names = late.map(
      ({ message, code }) => `${message} (${code === 'GIVEN_BACK' ? 'given back' : 'still running'})`,
    );
    const text = `these did not end within ${deadlineMs} ms: ${names.join('; ')}`;
    throw new SagaError('deadline', 'SAGA_STOP_TIMEOUT', text, { details: late });
  }
}

function newSignal(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, resolve };
}
