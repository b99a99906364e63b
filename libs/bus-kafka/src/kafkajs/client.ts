import { connect as connectTcp, type Socket } from 'node:net';
import { Kafka, logLevel } from 'kafkajs';
import type { BusConnection } from '../connection.js';
import { silentLog } from '../log.js';
import { keepIdleConnectionsQuiet } from './idle-connections.js';
import { quietLogCreator } from './quiet-log.js';

export interface KafkaClient {
  readonly kafka: Kafka;
  /** Cuts every connection: requests in flight reject at once instead of waiting for their timeout. */
  destroySockets(): void;
}

export interface ClientTimeouts {
  readonly requestTimeoutMs: number;
  /** Retries of metadata and connection requests; what is above them has its own. */
  readonly retries: number;
}

const KEEP_ALIVE_MS = 60_000;
const CONNECT_TIMEOUT_MS = 3000;

/** One kafkajs client with the settings that every part of Baton shares. */
export function createKafkaClient(connection: BusConnection, timeouts: ClientTimeouts): KafkaClient {
  keepIdleConnectionsQuiet();
  const sockets = new Set<Socket>();
  const kafka = new Kafka({
    brokers: [...connection.brokers],
    clientId: connection.clientId,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: timeouts.requestTimeoutMs,
    retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: timeouts.retries },
    logLevel: logLevel.WARN,
    logCreator: quietLogCreator(connection.log ?? silentLog),
    socketFactory: ({ host, port, onConnect }) => {
      const socket = connectTcp({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS });
      socket.once('connect', onConnect);
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },
  });
  const destroySockets = (): void => {
    // With an error: kafkajs learns of the end of a connection only through 'error' and 'end'.
    for (const socket of sockets) socket.destroy(new Error('the client was closed'));
  };
  return { kafka, destroySockets };
}
