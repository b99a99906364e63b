import type { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import type { Lsn } from './lsn.js';
import { parseLsn } from './lsn.js';

/*
 * Owns: one connection in replication mode. Does not own: what the stream means, what may be confirmed.
 *
 * pg has no API for replication: `client.connection`, its events 'replicationStart' and 'copyData', its `stream` and
 * `sendCopyFromChunk` are internals. The version is pinned and connection.int.spec.ts is their contract.
 */

interface PgConnection {
  readonly stream: Socket;
  on(event: 'copyData', listener: (message: { readonly chunk: Buffer }) => void): void;
  once(event: 'replicationStart', listener: () => void): void;
  removeAllListeners(event: 'copyData'): void;
  sendCopyFromChunk(chunk: Buffer): void;
}

export interface ReplicationOptions {
  readonly url: string;
  readonly applicationName: string;
  /** The server lets go of a frozen reader, and of its slot, after this. */
  readonly walSenderTimeoutMs: number;
}

export interface CreatedSlot {
  readonly consistentPoint: Lsn;
  /** Sees exactly what was committed before that point. Valid while this connection does nothing else. */
  readonly snapshot: string;
}

export interface SystemIdentity {
  readonly systemId: string;
  readonly timeline: number;
}

const CONNECT_TIMEOUT_MS = 5000;

export class ReplicationConnection {
  private readonly client: Client;
  private readonly gone = Promise.withResolvers<Error>();

  private constructor(options: ReplicationOptions) {
    const config: ClientConfig & { replication: string } = {
      connectionString: options.url,
      replication: 'database',
      application_name: options.applicationName,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    };
    this.client = new Client(config);
    this.client.on('error', (error) => this.gone.resolve(error));
    this.client.on('end', () => this.gone.resolve(new Error('the server closed the replication connection')));
  }

  static async open(options: ReplicationOptions): Promise<ReplicationConnection> {
    const connection = new ReplicationConnection(options);
    await connection.client.connect();
    await connection.client.query(`SET wal_sender_timeout = ${Math.trunc(options.walSenderTimeoutMs)}`);
    return connection;
  }

  /** Resolves, with the reason, when the connection is lost or closed. */
  get ended(): Promise<Error> {
    return this.gone.promise;
  }

  async identify(): Promise<SystemIdentity> {
    const { rows } = await this.client.query<{ systemid: string; timeline: number | string }>('IDENTIFY_SYSTEM');
    const row = rows[0];
    if (row === undefined) throw new Error('IDENTIFY_SYSTEM answered nothing');
    return { systemId: row.systemid, timeline: Number(row.timeline) };
  }

  /** Waits for every transaction that is running in the cluster. */
  async createSlot(slot: string): Promise<CreatedSlot> {
    const { rows } = await this.client.query<{ consistent_point: string; snapshot_name: string }>(
      `CREATE_REPLICATION_SLOT ${identifier(slot)} LOGICAL pgoutput EXPORT_SNAPSHOT`,
    );
    const row = rows[0];
    if (row === undefined) throw new Error('CREATE_REPLICATION_SLOT answered nothing');
    return { consistentPoint: parseLsn(row.consistent_point), snapshot: row.snapshot_name };
  }

  async dropSlot(slot: string): Promise<void> {
    await this.client.query(`DROP_REPLICATION_SLOT ${identifier(slot)}`);
  }

  /**
   * Starts the stream where the slot stands: any position given here would be raised to that, or silently skip rows,
   * so it is 0/0. Rejects with the server's error, 55006 when another reader has the slot. The handler gets
   * views on memory that is used again.
   */
  async stream(slot: string, publication: string, onChunk: (chunk: Buffer) => void): Promise<void> {
    const connection = this.internals();
    connection.removeAllListeners('copyData');
    connection.on('copyData', (message) => onChunk(message.chunk));
    const started = new Promise<void>((resolve) => connection.once('replicationStart', resolve));
    const command = this.client.query(
      `START_REPLICATION SLOT ${identifier(slot)} LOGICAL 0/0 ` +
        `(proto_version '1', publication_names '${identifier(publication)}', binary 'true')`,
    );
    const finished = command.then(
      () => this.gone.resolve(new Error('the server ended the replication stream')),
      (error: unknown) => {
        this.gone.resolve(error instanceof Error ? error : new Error(String(error)));
        throw error;
      },
    );
    // After the start, the end of the stream is told by `ended`.
    finished.catch(() => undefined);
    await Promise.race([
      started,
      finished.then(() => {
        throw new Error('the stream ended before it began');
      }),
    ]);
  }

  send(message: Buffer): void {
    this.internals().sendCopyFromChunk(message);
  }

  /** Backpressure: the server waits; what is sent to it goes on (L7). */
  pause(): void {
    this.internals().stream.pause();
  }

  resume(): void {
    this.internals().stream.resume();
  }

  /** Says goodbye: what was sent before still reaches the server. `ended` tells when it has hung up. */
  finish(): void {
    this.internals().removeAllListeners('copyData');
    this.resume();
    this.client.end().catch(() => undefined);
  }

  /** At once: nothing that arrives later is handled. */
  destroy(): void {
    this.internals().removeAllListeners('copyData');
    this.gone.resolve(new Error('the replication connection was closed'));
    this.internals().stream.destroy();
  }

  private internals(): PgConnection {
    return (this.client as unknown as { readonly connection: PgConnection }).connection;
  }
}

const PLAIN = /^[a-z_][a-z0-9_]{0,62}$/;

/** Names come from configuration; replication commands take no parameters. */
function identifier(name: string): string {
  if (!PLAIN.test(name)) throw new RangeError(`not a plain name: ${JSON.stringify(name)}`);
  return name;
}
