/** What a proxy knows of the protocol that is spoken on one connection. Bytes go in as they come, whole messages out. */
export interface Conversation {
  fromClient(chunk: Buffer): readonly Request[];
  fromServer(chunk: Buffer): readonly Answer[];
}

export interface Request {
  readonly bytes: Buffer;
  /** This message makes something durable; its text is what a fault may ask about. */
  readonly decisive: string | null;
  /** Names the answer that it gets. */
  readonly exchange: number;
}

export interface Answer {
  readonly bytes: Buffer;
  readonly exchange: number;
  readonly isLast: boolean;
  /** Says that the request failed: nothing of it is durable. */
  readonly isFailure: boolean;
}

/** Cuts a stream into messages: `sizeOf` looks at its beginning, undefined = more bytes are needed to say. */
export class Splitter {
  private rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
  }

  next(sizeOf: (start: Buffer) => number | undefined): Buffer | undefined {
    if (this.rest.length === 0) return undefined;
    const size = sizeOf(this.rest);
    if (size === undefined || size > this.rest.length) return undefined;
    const message = this.rest.subarray(0, size);
    this.rest = this.rest.subarray(size);
    return message;
  }
}
