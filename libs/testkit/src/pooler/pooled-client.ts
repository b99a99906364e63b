import type { Socket } from 'node:net';
import { Splitter } from '../faults/conversation.js';
import { CANCEL_REQUEST, refusal, SSL_REQUEST, typedSize, typeOf, untypedSize, welcome } from './messages.js';
import type { ServerPool, ServerSession } from './server-pool.js';

/** Messages of a client that the server answers with one ReadyForQuery each. */
const ANSWERED = new Set(['Q', 'S', 'F']);

/** One client's connection: it has a session of the server from its first message until the transaction has ended. */
export class PooledClient {
  private readonly splitter = new Splitter();
  private phase: 'startup' | 'messages' | 'over' = 'startup';
  private session: ServerSession | undefined;
  private asking = false;
  private readonly queued: Buffer[] = [];
  private unanswered = 0;

  constructor(
    private readonly socket: Socket,
    private readonly pool: ServerPool,
    private readonly onTransaction: () => void,
  ) {
    socket.on('data', (chunk) => this.hear(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => this.leave());
  }

  end(): void {
    this.socket.destroy();
  }

  private hear(chunk: Buffer): void {
    this.splitter.push(chunk);
    while (this.phase !== 'over') {
      const message = this.splitter.next(this.phase === 'startup' ? untypedSize : typedSize);
      if (message === undefined) return;
      if (this.phase === 'startup') this.greet(message.readInt32BE(4));
      else this.forward(message);
    }
  }

  private greet(code: number): void {
    if (code === CANCEL_REQUEST) return this.end();
    if (code === SSL_REQUEST) {
      this.socket.write('N');
      return;
    }
    this.phase = 'messages';
    this.socket.write(welcome());
  }

  private forward(message: Buffer): void {
    const type = typeOf(message);
    if (type === 'X') return this.end();
    if (ANSWERED.has(type)) this.unanswered += 1;
    if (this.session !== undefined) return this.session.send(message);
    this.queued.push(message);
    if (this.asking) return;
    this.asking = true;
    void this.pool.acquire().then((session) => this.begin(session));
  }

  private begin(session: ServerSession): void {
    this.asking = false;
    if (this.phase === 'over') return this.pool.release(session);
    this.session = session;
    this.onTransaction();
    session.hear = (message) => this.answer(session, message);
    session.gone = () => {
      this.session = undefined;
      this.socket.end(refusal('server connection crashed?'));
      void this.pool.replace(session).catch(() => undefined);
    };
    for (const message of this.queued.splice(0)) session.send(message);
  }

  private answer(session: ServerSession, message: Buffer): void {
    const isReady = typeOf(message) === 'Z';
    if (isReady) this.unanswered -= 1;
    const isOver = isReady && this.unanswered === 0 && message[5] === 'I'.charCodeAt(0);
    if (isOver) this.session = undefined;
    this.socket.write(message);
    if (isOver) this.pool.release(session);
  }

  /** What a client leaves open is rolled back with its session. */
  private leave(): void {
    this.phase = 'over';
    if (this.session === undefined) return;
    const { session } = this;
    this.session = undefined;
    void this.pool.replace(session).catch(() => undefined);
  }
}
