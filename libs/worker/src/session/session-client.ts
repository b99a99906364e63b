import { credentials, Metadata, type ChannelCredentials } from '@grpc/grpc-js';
import { workerV1 } from '@baton/contracts';
import { after, backoffMs } from '@baton/execution';
import { ApiError, AUTHORIZATION_KEY, bearer, fromGrpcError, GRPC } from '@baton/wire';
import type { WorkerLogger } from '../logger.js';
import { SessionLink, type Answer, type Call } from './session-link.js';

/**
 * Owns: the stream to one coordinator of several, which calls are in flight on which stream, what is sent again.
 * Does not own: what the answers mean for a task.
 *
 * S1. A call is in the queue, in flight on exactly one link, waiting for its next try, or settled.
 * S2. When a link breaks, its acquires (same call_id, R10) and reports (fenced, R14) go back to the queue in order;
 *     its heartbeats are answered RETRY, since the next one says more.
 * S3. A report settles only by an acknowledgement, by an error that no repetition can change, or by `close`.
 */
export interface SessionClientOptions {
  /** host:port of coordinators; the next one is tried when a stream breaks. */
  readonly coordinators: readonly string[];
  readonly apiKey?: string;
  readonly credentials?: ChannelCredentials;
  readonly logger: WorkerLogger;
  /** A stream that leaves a call unanswered for so long is given up, whatever else it answers. Default 30 s. */
  readonly answerTimeoutMs?: number;
  /** A stream that is asked something and answers nothing at all for so long is given up. Default 10 s. */
  readonly silenceTimeoutMs?: number;
}

/** `sentAt`: performance.now() when the call that was answered went out; a lease cannot have begun earlier. */
export interface AcquireReply {
  readonly response: workerV1.AcquireTaskLeaseResponse;
  readonly sentAt: number;
}

interface Pending {
  readonly call: Call;
  readonly bytes: number;
  readonly settle: (reply: Reply) => void;
  readonly refuse: (error: Error) => void;
  tries: number;
  sentAt: number;
}

interface Reply {
  readonly answer: Answer;
  readonly sentAt: number;
}

/** Well under the 8 MiB that a coordinator takes in one message; one report may be a little over 1 MiB. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
const MAX_MESSAGE_CALLS = 1_000;
const CALL_OVERHEAD_BYTES = 200;
const WATCH_INTERVAL_MS = 1_000;
const ANSWER_TIMEOUT_MS = 30_000;
/** A coordinator that stands still must not hold up its workers for longer than a short lease. */
const SILENCE_TIMEOUT_MS = 10_000;

const CHANNEL_OPTIONS = {
  // A name with several addresses: each new stream goes to the next of them.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.max_send_message_length': 8 * 1024 * 1024,
  'grpc.max_receive_message_length': 64 * 1024 * 1024,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2_000,
} as const;

export class SessionClient {
  private readonly clients = new Map<string, workerV1.WorkerServiceClient>();
  private readonly inFlight = new Map<SessionLink, Map<number, Pending>>();
  private queue: Pending[] = [];
  private waiting = new Set<Pending>();
  private active: SessionLink | undefined;
  private nextAddress: number;
  private failures = 0;
  private nextId = 1;
  private isFlushPlanned = false;
  private isClosed = false;
  private stopReconnect: (() => void) | undefined;
  private readonly watch: NodeJS.Timeout;
  private idle: (() => void) | undefined;

  constructor(private readonly options: SessionClientOptions) {
    if (options.coordinators.length === 0) throw new RangeError('at least one coordinator is needed');
    // Workers of one fleet begin at different coordinators.
    this.nextAddress = Math.floor(Math.random() * options.coordinators.length);
    this.watch = setInterval(() => this.giveUpSilentLinks(), WATCH_INTERVAL_MS);
    this.watch.unref();
  }

  get isConnected(): boolean {
    return this.active?.isAlive === true;
  }

  async acquire(request: workerV1.AcquireTaskLeaseRequest): Promise<AcquireReply> {
    const { answer, sentAt } = await this.call({ $case: 'acquire', value: request }, 0);
    if (answer.$case === 'acquire') return { response: answer.value, sentAt };
    const status = workerV1.AcquireStatus.ACQUIRE_STATUS_RETRY;
    return { response: workerV1.AcquireTaskLeaseResponse.fromPartial({ status, taskId: request.taskId }), sentAt };
  }

  async heartbeat(request: workerV1.HeartbeatRequest): Promise<workerV1.HeartbeatResponse> {
    const { answer } = await this.call({ $case: 'heartbeat', value: request }, request.progress?.length ?? 0);
    if (answer.$case === 'heartbeat') return answer.value;
    return { status: workerV1.HeartbeatStatus.HEARTBEAT_STATUS_RETRY, ttlMs: 0n, taskId: request.taskId };
  }

  async report(request: workerV1.ReportTaskResultRequest): Promise<workerV1.ReportTaskResultResponse> {
    const size = request.output.length + request.error.length;
    const { answer } = await this.call({ $case: 'report', value: request }, size);
    if (answer.$case === 'report') return answer.value;
    throw new Error(`a report was answered with ${answer.$case}`);
  }

  /** Waits up to `graceMs` for what is queued and in flight, then refuses the rest. */
  async close(graceMs: number): Promise<void> {
    if (this.isClosed) return;
    await this.untilIdle(graceMs);
    this.isClosed = true;
    clearInterval(this.watch);
    this.stopReconnect?.();
    const left = [
      ...this.queue,
      ...this.waiting,
      ...[...this.inFlight.values()].flatMap((calls) => [...calls.values()]),
    ];
    for (const link of this.inFlight.keys()) link.drop();
    this.inFlight.clear();
    this.queue = [];
    this.waiting.clear();
    this.active = undefined;
    for (const pending of left) pending.refuse(new ApiError('unavailable', 'SESSION_CLOSED', 'the session is closed'));
    for (const client of this.clients.values()) client.close();
  }

  private call(call: Call, payloadBytes: number): Promise<Reply> {
    if (this.isClosed) return Promise.reject(new ApiError('unavailable', 'SESSION_CLOSED', 'the session is closed'));
    return new Promise<Reply>((settle, refuse) => {
      this.queue.push({ call, bytes: CALL_OVERHEAD_BYTES + payloadBytes, settle, refuse, tries: 0, sentAt: 0 });
      this.planFlush();
    });
  }

  /** One message for all that came up in this turn of the event loop. */
  private planFlush(): void {
    if (this.isFlushPlanned || this.isClosed) return;
    this.isFlushPlanned = true;
    setImmediate(() => {
      this.isFlushPlanned = false;
      this.flush();
    });
  }

  private flush(): void {
    if (this.isClosed || this.queue.length === 0) return;
    const link = this.active ?? this.connect();
    if (link === undefined) return;
    while (this.queue.length > 0 && link.canWrite && this.active === link) this.writeMessage(link);
  }

  private writeMessage(link: SessionLink): void {
    const calls: workerV1.SessionCall[] = [];
    const open = this.inFlight.get(link);
    if (open === undefined) return;
    const now = performance.now();
    let bytes = 0;
    let taken = 0;
    for (const pending of this.queue) {
      bytes += pending.bytes;
      if (taken > 0 && (bytes > MAX_MESSAGE_BYTES || taken >= MAX_MESSAGE_CALLS)) break;
      taken += 1;
      const id = this.nextId;
      this.nextId = id >= 0xffff_fff0 ? 1 : id + 1;
      pending.sentAt = now;
      open.set(id, pending);
      calls.push({ id, call: pending.call });
    }
    this.queue.splice(0, taken);
    link.write(calls);
  }

  private connect(): SessionLink | undefined {
    if (this.stopReconnect !== undefined) return undefined;
    const addresses = this.options.coordinators;
    const address = addresses[this.nextAddress % addresses.length] as string;
    this.nextAddress += 1;
    const link = new SessionLink(address, {
      answer: (from, id, answer) => this.onAnswer(from, id, answer),
      goingAway: (from) => this.onGoingAway(from),
      broken: (from, error) => this.onBroken(from, error),
      drained: () => this.planFlush(),
    });
    this.inFlight.set(link, new Map());
    this.active = link;
    link.open(this.clientOf(address), this.metadata());
    return link;
  }

  private clientOf(address: string): workerV1.WorkerServiceClient {
    let client = this.clients.get(address);
    if (client === undefined) {
      const channel = this.options.credentials ?? credentials.createInsecure();
      client = new workerV1.WorkerServiceClient(address, channel, CHANNEL_OPTIONS);
      this.clients.set(address, client);
    }
    return client;
  }

  private metadata(): Metadata {
    const metadata = new Metadata();
    if (this.options.apiKey !== undefined) metadata.set(AUTHORIZATION_KEY, bearer(this.options.apiKey));
    return metadata;
  }

  private onAnswer(link: SessionLink, id: number, answer: Answer | undefined): void {
    this.failures = 0;
    const open = this.inFlight.get(link);
    const pending = open?.get(id);
    if (open === undefined || pending === undefined) return;
    open.delete(id);
    this.settle(pending, answer);
    if (link !== this.active && open.size === 0) this.retire(link);
    this.tellIfIdle();
  }

  private settle(pending: Pending, answer: Answer | undefined): void {
    const isUnacknowledged = answer?.$case === 'report' && !answer.value.acknowledged;
    const isRetryable =
      answer === undefined || isUnacknowledged || (answer.$case === 'error' && answer.value.retryable);
    if (!isRetryable) {
      if (answer.$case !== 'error') return pending.settle({ answer, sentAt: pending.sentAt });
      const { code, message } = answer.value;
      return pending.refuse(fromGrpcError({ code, details: message }));
    }
    // S3. Acquires and heartbeats hear "not now" and ask again in their own time.
    if (pending.call.$case === 'report') this.repeatLater(pending);
    else pending.settle(notNow(pending));
  }

  private repeatLater(pending: Pending): void {
    this.waiting.add(pending);
    after(backoffMs(pending.tries, 50, 2_000), () => {
      if (!this.waiting.delete(pending) || this.isClosed) return;
      this.queue.push(pending);
      this.planFlush();
    });
    pending.tries += 1;
  }

  /** New calls go to another stream; this one stays until it has answered what it was asked. */
  private onGoingAway(link: SessionLink): void {
    if (link === this.active) this.active = undefined;
    this.options.logger.info({ coordinator: link.address }, 'the coordinator is going away');
    if (this.inFlight.get(link)?.size === 0) this.retire(link);
    this.planFlush();
  }

  private retire(link: SessionLink): void {
    this.inFlight.delete(link);
    link.end();
  }

  private onBroken(link: SessionLink, error: Error & { code?: number }): void {
    const open = this.inFlight.get(link);
    this.inFlight.delete(link);
    const wasActive = link === this.active;
    if (wasActive) this.active = undefined;
    if (open !== undefined) this.sendAgain([...open.values()]);
    if (link.isAlive) this.failures = 0;
    if (this.isClosed || !wasActive) return this.planFlush();
    this.logBroken(link, error);
    const pause = backoffMs(this.failures, 50, isRefusal(error.code) ? 5_000 : 2_000);
    this.failures += 1;
    this.stopReconnect = after(pause, () => {
      this.stopReconnect = undefined;
      this.planFlush();
    });
  }

  private sendAgain(calls: readonly Pending[]): void {
    const again = calls.filter((pending) => pending.call.$case !== 'heartbeat');
    for (const pending of calls) if (pending.call.$case === 'heartbeat') pending.settle(notNow(pending));
    this.queue = [...again, ...this.queue];
  }

  private logBroken(link: SessionLink, error: Error & { code?: number }): void {
    const fields = { coordinator: link.address, code: error.code, reason: error.message };
    if (isRefusal(error.code)) this.options.logger.error(fields, 'the coordinator refuses this worker');
    else if (this.failures === 0) this.options.logger.warn(fields, 'the session with the coordinator broke');
    else this.options.logger.debug(fields, 'no session with the coordinator yet');
  }

  /** A busy coordinator answers late, but it answers; one that stands still keeps its connections and says nothing. */
  private giveUpSilentLinks(): void {
    const now = performance.now();
    const { answerTimeoutMs = ANSWER_TIMEOUT_MS, silenceTimeoutMs = SILENCE_TIMEOUT_MS } = this.options;
    for (const [link, open] of [...this.inFlight]) {
      const oldest = open.values().next().value;
      if (oldest === undefined) continue;
      const isSilent = now - Math.max(oldest.sentAt, link.heardAt) > silenceTimeoutMs;
      if (isSilent || now - oldest.sentAt > answerTimeoutMs) link.fail(new Error('the coordinator does not answer'));
    }
  }

  private get isIdle(): boolean {
    if (this.queue.length > 0 || this.waiting.size > 0) return false;
    return [...this.inFlight.values()].every((open) => open.size === 0);
  }

  private tellIfIdle(): void {
    if (this.idle !== undefined && this.isIdle) this.idle();
  }

  private async untilIdle(graceMs: number): Promise<void> {
    if (this.isIdle || graceMs <= 0) return;
    await new Promise<void>((resolve) => {
      const stop = after(graceMs, resolve);
      this.idle = () => {
        stop();
        resolve();
      };
    });
    this.idle = undefined;
  }
}

const NOT_NOW: Answer = { $case: 'error', value: { code: GRPC.UNAVAILABLE, message: 'not now', retryable: true } };

/** For a call that could not be answered now. */
function notNow(pending: Pending): Reply {
  return { answer: NOT_NOW, sentAt: pending.sentAt };
}

function isRefusal(code: number | undefined): boolean {
  return code === GRPC.UNAUTHENTICATED || code === GRPC.PERMISSION_DENIED || code === GRPC.UNIMPLEMENTED;
}
