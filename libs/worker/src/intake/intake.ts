import type { ConsumedBatch, ConsumedMessage } from '@baton/bus-kafka';
import { after, backoffMs } from '@baton/execution';
import { acquireResultFromProto, ApiError, type AcquireResult } from '@baton/wire';
import type { WorkerLogger } from '../logger.js';
import type { SessionClient } from '../session/session-client.js';
import { parseTaskMessage, type TaskMessage } from '../task-message.js';
import { Delivery } from './delivery.js';
import { ReadyQueue } from './ready-queue.js';

export interface Granted {
  readonly task: TaskMessage;
  readonly result: AcquireResult;
  /** performance.now() when the acquire was sent that brought the lease. */
  readonly askedAt: number;
}

export interface IntakeOptions {
  readonly owner: string;
  readonly concurrency: number;
  readonly session: Pick<SessionClient, 'acquire'>;
  readonly logger: WorkerLogger;
  /** R10: 30 s. */
  readonly patienceMs: number;
  /** The lease is ours; resolves when the slot is free again. Must not reject. */
  run(granted: Granted): Promise<void>;
  /** Not a message that any worker can read (B106). Resolves when it is kept elsewhere. Must not reject. */
  bury(message: ConsumedMessage, reason: string): Promise<void>;
  readonly onAcquire?: (status: AcquireResult['status'] | 'GIVEN_UP') => void;
}

/**
 * From fetched messages to granted leases.
 *
 * N1. A lease is asked for only when a slot is free for it, so that its time to live and its startToClose never run
 *     in a queue. Reserved slots = leases asked for + attempts running <= concurrency.
 * N2. A message is done when it is GRANTED, HELD, STALE, given up after NOT_YET, or buried; in no other case (R10).
 * N3. Waiting for a lease that is NOT_YET or locked holds no slot and no other message.
 * N4. A batch is let go (so that the next one is fetched) when few messages wait for a slot and not too many for
 *     another ask: while the database is away, the backlog stays in Kafka, not in this process.
 */
export class Intake {
  private readonly ready = new ReadyQueue();
  private readonly sleeping = new Map<Delivery, () => void>();
  private reserved = 0;
  private isStopped = false;
  private readonly letGo: (() => void)[] = [];

  constructor(private readonly options: IntakeOptions) {}

  get waiting(): number {
    return this.ready.size + this.sleeping.size;
  }

  get busy(): number {
    return this.reserved;
  }

  /** The bus calls it; not resolving is what pauses fetching. */
  async takeBatch(batch: ConsumedBatch): Promise<void> {
    const buried: Promise<void>[] = [];
    for (const message of batch.messages) {
      const parsed = parseTaskMessage(message.value, message.headers['type']);
      if (parsed.ok) this.ready.push(new Delivery(parsed.task, message, batch));
      else buried.push(this.options.bury(message, parsed.reason).then(() => batch.done(message.offset)));
    }
    this.pump();
    await Promise.all([this.untilRoom(batch.signal), ...buried]);
  }

  /** Nothing is asked for any more; messages that wait are delivered again to others. */
  stop(): void {
    this.isStopped = true;
    this.ready.clear();
    for (const cancel of this.sleeping.values()) cancel();
    this.sleeping.clear();
    for (const resolve of this.letGo.splice(0)) resolve();
  }

  private pump(): void {
    while (this.reserved < this.options.concurrency) {
      const delivery = this.isStopped ? undefined : this.ready.take();
      if (delivery === undefined) break;
      if (delivery.isRevoked) continue;
      this.reserved += 1;
      void this.claim(delivery).finally(() => {
        this.reserved -= 1;
        this.pump();
      });
    }
    if (this.hasRoom) for (const resolve of this.letGo.splice(0)) resolve();
  }

  private async claim(delivery: Delivery): Promise<void> {
    try {
      const { response, sentAt } = await this.options.session.acquire(this.request(delivery));
      const result = acquireResultFromProto(response);
      this.options.onAcquire?.(result.status);
      await this.follow(delivery, result, sentAt);
    } catch (error) {
      // The session is closed: the message stays for others. Anything else says that the message names nothing.
      if (error instanceof ApiError && error.kind === 'invalid') this.giveUp(delivery, error.message);
      else if (!this.isStopped) this.sleep(delivery, RETRY_PAUSE);
    }
  }

  private async follow(delivery: Delivery, result: AcquireResult, sentAt: number): Promise<void> {
    switch (result.status) {
      case 'GRANTED':
        // Postgres owns the task now: a slow handler does not hold its partition.
        delivery.done();
        return this.options.run({ task: delivery.task, result, askedAt: sentAt });
      case 'HELD':
      case 'STALE':
        return delivery.done();
      case 'NOT_YET':
        if (!delivery.isPatienceOver(this.options.patienceMs)) return this.sleep(delivery, NOT_YET_PAUSE);
        this.options.onAcquire?.('GIVEN_UP');
        return this.giveUp(delivery, 'its task does not exist; the redispatch guard sends it again if it ever does');
      case 'RETRY':
        return this.sleep(delivery, RETRY_PAUSE);
    }
  }

  private giveUp(delivery: Delivery, reason: string): void {
    const { runId, nodeId, attempt } = delivery.task;
    this.options.logger.warn({ run_id: runId, node_id: nodeId, attempt, reason }, 'a message was given up');
    delivery.done();
  }

  private sleep(delivery: Delivery, pause: { readonly first: number; readonly max: number }): void {
    if (this.isStopped || delivery.isRevoked) return;
    const wake = after(backoffMs(delivery.tries, pause.first, pause.max), () => {
      this.sleeping.delete(delivery);
      this.ready.push(delivery);
      this.pump();
    });
    delivery.tries += 1;
    this.sleeping.set(delivery, wake);
  }

  private request(delivery: Delivery) {
    const { task, callId } = delivery;
    return {
      taskId: task.taskId,
      runId: task.runId,
      attempt: task.attempt,
      owner: this.options.owner,
      callId,
      ttlSeconds: 0n,
      wantInput: task.input === undefined,
    };
  }

  private get hasRoom(): boolean {
    return this.ready.size <= this.options.concurrency && this.sleeping.size < MAX_SLEEPING;
  }

  private untilRoom(signal: AbortSignal): Promise<void> {
    if (this.hasRoom || this.isStopped || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = () => {
        signal.removeEventListener('abort', settle);
        resolve();
      };
      signal.addEventListener('abort', settle);
      this.letGo.push(settle);
    });
  }
}

const MAX_SLEEPING = 1_000;
const NOT_YET_PAUSE = { first: 5, max: 1_000 };
const RETRY_PAUSE = { first: 20, max: 2_000 };
