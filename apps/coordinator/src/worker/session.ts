import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import type { workerV1 } from '@baton/contracts';
import { GRPC } from '@baton/wire';
import { toSessionError } from '../errors.js';
import type { WorkerCalls } from './worker-calls.js';

export type SessionCallStream = ServerDuplexStream<workerV1.SessionRequest, workerV1.SessionResponse>;
type Answer = NonNullable<workerV1.SessionAnswer['answer']>;

/** Calls of one stream that may be under way; reading stops above it, and TCP tells the worker. */
const MAX_IN_FLIGHT = 4_096;
/** Answers carry inputs of up to 1 MiB; a message holds what its first answer needs, or up to this. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
const MAX_MESSAGE_ANSWERS = 2_000;

/**
 * One worker's stream.
 *
 * Owns: framing, flow control and the end of the stream. Does not own: what a call means (WorkerCalls).
 * T1. Every call that was read is answered, or the stream is gone: the worker asks again on another one.
 * T2. All answers that are ready in one turn of the event loop go out in one message (ADR 0009).
 */
export class WorkerSession {
  private ready: workerV1.SessionAnswer[] = [];
  private inFlight = 0;
  private isFlushPlanned = false;
  private isBlocked = false;
  private isClosed = false;
  private isEnding = false;
  private goingAway: 'no' | 'due' | 'said' = 'no';
  private readonly ended = Promise.withResolvers<void>();

  constructor(
    private readonly stream: SessionCallStream,
    private readonly namespace: string,
    private readonly calls: WorkerCalls,
  ) {
    // The worker knows at once that it is let in.
    stream.sendMetadata(new Metadata());
    stream.on('data', (request: workerV1.SessionRequest) => this.take(request));
    stream.on('drain', () => {
      this.isBlocked = false;
      this.flush();
    });
    stream.on('end', () => this.end());
    stream.on('cancelled', () => this.close());
    stream.on('error', () => this.close());
  }

  /** Resolves when the stream is over, whoever ended it. */
  get whenEnded(): Promise<void> {
    return this.ended.promise;
  }

  get isIdle(): boolean {
    return this.inFlight === 0 && this.ready.length === 0;
  }

  /** The worker opens a stream elsewhere and ends this one when its calls are answered. */
  sayGoingAway(): void {
    if (this.goingAway !== 'no') return;
    this.goingAway = 'due';
    this.planFlush();
  }

  /** Takes no more calls; ends when what was read is answered. */
  end(): void {
    this.isEnding = true;
    this.endIfDone();
  }

  private take(request: workerV1.SessionRequest): void {
    for (const { id, call } of request.calls) {
      this.inFlight += 1;
      void this.answer(call).then((answer) => this.onAnswered(id, answer));
    }
    if (this.inFlight > MAX_IN_FLIGHT) this.stream.pause();
  }

  /** Never rejects. */
  private async answer(call: workerV1.SessionCall['call']): Promise<Answer> {
    try {
      switch (call?.$case) {
        case 'acquire':
          return { $case: 'acquire', value: await this.calls.acquire(this.namespace, call.value) };
        case 'heartbeat':
          return { $case: 'heartbeat', value: await this.calls.heartbeat(this.namespace, call.value) };
        case 'report':
          return { $case: 'report', value: await this.calls.report(this.namespace, call.value) };
        case undefined:
          return { $case: 'error', value: UNKNOWN_CALL };
      }
    } catch (error) {
      return { $case: 'error', value: toSessionError(error) };
    }
  }

  private onAnswered(id: number, answer: Answer): void {
    this.inFlight -= 1;
    if (this.isClosed) return;
    this.ready.push({ id, answer });
    this.planFlush();
    if (this.inFlight < MAX_IN_FLIGHT / 2 && this.stream.isPaused()) this.stream.resume();
  }

  private planFlush(): void {
    if (this.isFlushPlanned || this.isClosed) return;
    this.isFlushPlanned = true;
    setImmediate(() => {
      this.isFlushPlanned = false;
      this.flush();
    });
  }

  private flush(): void {
    while (!this.isClosed && !this.isBlocked && (this.ready.length > 0 || this.goingAway === 'due')) {
      const goingAway = this.goingAway === 'due';
      if (goingAway) this.goingAway = 'said';
      const answers = this.ready.splice(0, messageLength(this.ready));
      this.isBlocked = !this.stream.write({ answers, goingAway });
    }
    this.endIfDone();
  }

  private endIfDone(): void {
    if (!this.isEnding || this.isClosed || !this.isIdle) return;
    this.stream.end();
    this.close();
  }

  private close(): void {
    this.isClosed = true;
    this.ready = [];
    this.ended.resolve();
  }
}

const UNKNOWN_CALL: workerV1.SessionError = {
  code: GRPC.UNIMPLEMENTED,
  message: 'this coordinator does not know the call',
  retryable: false,
};

function messageLength(answers: readonly workerV1.SessionAnswer[]): number {
  let bytes = 0;
  let count = 0;
  for (const { answer } of answers) {
    if (answer?.$case === 'acquire') bytes += (answer.value.input?.length ?? 0) + (answer.value.progress?.length ?? 0);
    if (count > 0 && (bytes > MAX_MESSAGE_BYTES || count >= MAX_MESSAGE_ANSWERS)) break;
    count += 1;
  }
  return count;
}
