import { Socket } from 'node:net';
import { Client } from 'pg';
import { Splitter } from '../faults/conversation.js';
import { typedSize } from './messages.js';

/** A session of the server that is lent to one client after the other. */
export interface ServerSession {
  /** Where whole messages of the server go while it is lent. */
  hear: (message: Buffer) => void;
  gone: () => void;
  send(bytes: Buffer): void;
  /** Not to be lent again. */
  destroy(): void;
}

/** Lends the session that has been idle for the longest time: of two or more, never the same twice in a row. */
export class ServerPool {
  private readonly idle: ServerSession[] = [];
  private readonly waiting: ((session: ServerSession) => void)[] = [];
  private readonly sockets = new Set<Socket>();
  private isClosed = false;

  constructor(private readonly url: string) {}

  async open(sessions: number): Promise<void> {
    for (let count = 0; count < sessions; count += 1) this.release(await this.connect());
  }

  acquire(): Promise<ServerSession> {
    const session = this.idle.shift();
    if (session !== undefined) return Promise.resolve(session);
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  release(session: ServerSession): void {
    session.hear = () => undefined;
    session.gone = () => this.forget(session);
    const next = this.waiting.shift();
    if (next === undefined) this.idle.push(session);
    else next(session);
  }

  /** Its session cannot be used again: another takes its place. */
  async replace(session: ServerSession): Promise<void> {
    session.gone = () => undefined;
    session.destroy();
    if (!this.isClosed) this.release(await this.connect());
  }

  close(): void {
    this.isClosed = true;
    for (const socket of this.sockets) socket.destroy();
  }

  private forget(session: ServerSession): void {
    const index = this.idle.indexOf(session);
    if (index >= 0) this.idle.splice(index, 1);
    if (!this.isClosed) void this.replace(session).catch(() => undefined);
  }

  /** `pg` speaks until the session is open, with all that this takes; then its messages are ours. */
  private async connect(): Promise<ServerSession> {
    const socket = new Socket();
    this.sockets.add(socket);
    const client = new Client({ connectionString: this.url, stream: () => socket, application_name: 'pooler' });
    client.on('error', () => undefined);
    await client.connect();
    socket.removeAllListeners('data');
    const session: ServerSession = {
      hear: () => undefined,
      gone: () => undefined,
      send: (bytes) => void socket.write(bytes),
      destroy: () => socket.destroy(),
    };
    const splitter = new Splitter();
    socket.on('data', (chunk: Buffer) => {
      splitter.push(chunk);
      for (let next = splitter.next(typedSize); next !== undefined; next = splitter.next(typedSize)) session.hear(next);
    });
    socket.on('close', () => {
      this.sockets.delete(socket);
      session.gone();
    });
    return session;
  }
}
