import type { ClientDuplexStream, Metadata } from '@grpc/grpc-js';
import type { workerV1 } from '@baton/contracts';
import { after } from '@baton/execution';

export type SessionStream = ClientDuplexStream<workerV1.SessionRequest, workerV1.SessionResponse>;
export type Call = NonNullable<workerV1.SessionCall['call']>;
export type Answer = NonNullable<workerV1.SessionAnswer['answer']>;

const END_GRACE_MS = 1_000;

export interface LinkEvents {
  answer(link: SessionLink, id: number, answer: Answer | undefined): void;
  goingAway(link: SessionLink): void;
  /** The stream is over. Called once; nothing comes after it. */
  broken(link: SessionLink, error: Error & { code?: number }): void;
  drained(link: SessionLink): void;
}

/** One stream to one coordinator. Owns the stream's life; what is in flight on it is the client's business. */
export class SessionLink {
  private stream: SessionStream | undefined;
  private isBlocked = false;
  /** The coordinator has answered something: it is there. */
  isAlive = false;
  /** performance.now() of its last message. */
  heardAt = 0;

  constructor(
    readonly address: string,
    private readonly events: LinkEvents,
  ) {}

  open(client: workerV1.WorkerServiceClient, metadata: Metadata): void {
    const stream = client.session(metadata);
    this.stream = stream;
    stream.on('metadata', () => {
      this.isAlive = true;
    });
    stream.on('data', (response: workerV1.SessionResponse) => {
      this.isAlive = true;
      this.heardAt = performance.now();
      for (const { id, answer } of response.answers) this.events.answer(this, id, answer);
      if (response.goingAway) this.events.goingAway(this);
    });
    stream.on('drain', () => {
      this.isBlocked = false;
      this.events.drained(this);
    });
    stream.on('end', () => this.fail(new Error('the coordinator ended the stream')));
    stream.on('error', (error: Error) => this.fail(error));
  }

  get canWrite(): boolean {
    return this.stream !== undefined && !this.isBlocked;
  }

  write(calls: workerV1.SessionCall[]): void {
    if (this.stream?.write({ calls }) === false) this.isBlocked = true;
  }

  /** Everything is answered: ends the stream. Nobody hears of it again. */
  end(): void {
    const stream = this.stream;
    this.drop((ending) => ending.end());
    // A coordinator that does not end its side in turn must not keep the stream.
    if (stream !== undefined) after(END_GRACE_MS, () => stream.cancel());
  }

  /** Gives the stream up. The client hears `broken`. */
  fail(error: Error): void {
    if (this.stream === undefined) return;
    this.drop();
    this.events.broken(this, error);
  }

  /** Gives the stream up in silence. */
  drop(how: (stream: SessionStream) => void = (stream) => stream.cancel()): void {
    const stream = this.stream;
    this.stream = undefined;
    if (stream === undefined) return;
    stream.removeAllListeners();
    // What still comes out of the stream has nobody to tell, but must be read for its end to come.
    stream.on('error', () => undefined);
    stream.resume();
    how(stream);
  }
}
