import { Metadata, Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { workerV1 } from '@baton/contracts';

type Stream = ServerDuplexStream<workerV1.SessionRequest, workerV1.SessionResponse>;
type Call = NonNullable<workerV1.SessionCall['call']>;
type Answer = NonNullable<workerV1.SessionAnswer['answer']>;

/** A gRPC server that hears a worker's calls and answers what the test says. 'nothing' = no answer. */
export class FakeCoordinator {
  readonly heard: Call[] = [];
  readonly messages: workerV1.SessionRequest[] = [];
  readonly keys: string[] = [];
  readonly streams = new Set<Stream>();
  answer: (call: Call) => Answer | 'nothing' = grantEverything;
  refuseStreams: { code: number; details: string } | undefined;
  private server: Server | undefined;
  port = 0;

  async listen(port = 0): Promise<string> {
    const server = new Server();
    this.server = server;
    server.addService(workerV1.WorkerServiceService, { session: (stream: Stream) => this.accept(stream) } as never);
    this.port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    return this.address;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** As a crash looks to a worker. */
  crash(): void {
    this.server?.forceShutdown();
    this.streams.clear();
  }

  sayGoingAway(): void {
    for (const stream of this.streams) stream.write({ answers: [], goingAway: true });
  }

  private accept(stream: Stream): void {
    this.keys.push(String(stream.metadata.get('authorization')[0] ?? ''));
    if (this.refuseStreams) {
      stream.emit('error', { ...this.refuseStreams, metadata: new Metadata() });
      return;
    }
    stream.sendMetadata(new Metadata());
    this.streams.add(stream);
    stream.on('data', (request: workerV1.SessionRequest) => this.take(stream, request));
    stream.on('end', () => {
      this.streams.delete(stream);
      stream.end();
    });
    for (const event of ['cancelled', 'error']) stream.on(event, () => this.streams.delete(stream));
  }

  private take(stream: Stream, request: workerV1.SessionRequest): void {
    this.messages.push(request);
    const answers: workerV1.SessionAnswer[] = [];
    for (const { id, call } of request.calls) {
      if (call === undefined) continue;
      this.heard.push(call);
      const answer = this.answer(call);
      if (answer !== 'nothing') answers.push({ id, answer });
    }
    if (answers.length > 0) stream.write({ answers, goingAway: false });
  }
}

export function grantEverything(call: Call): Answer {
  switch (call.$case) {
    case 'acquire':
      return {
        $case: 'acquire',
        value: workerV1.AcquireTaskLeaseResponse.fromPartial({
          status: workerV1.AcquireStatus.ACQUIRE_STATUS_GRANTED,
          leaseId: '01920000-0000-7000-8000-0000000000aa',
          ttlMs: 30_000n,
          attempt: call.value.attempt,
          taskId: call.value.taskId,
        }),
      };
    case 'heartbeat':
      return {
        $case: 'heartbeat',
        value: { status: workerV1.HeartbeatStatus.HEARTBEAT_STATUS_OK, ttlMs: 30_000n, taskId: call.value.taskId },
      };
    case 'report':
      return {
        $case: 'report',
        value: {
          acknowledged: true,
          outcome: workerV1.ReportOutcome.REPORT_OUTCOME_APPLIED,
          taskId: call.value.taskId,
        },
      };
  }
}

export const notNow: Answer = { $case: 'error', value: { code: 14, message: 'database away', retryable: true } };

/** Waits for a condition without sleeping longer than it takes. */
export async function until(condition: () => boolean, what: string, timeoutMs = 5_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
