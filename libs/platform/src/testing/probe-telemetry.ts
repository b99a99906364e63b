import '../telemetry/preload.js';
import { Server } from '@grpc/grpc-js';
import { Kafka } from 'kafkajs';
import { Client } from 'pg';

/** Says what the preload did to this process. */
const isWrapped = (method: unknown) => (method as { __wrapped?: boolean }).__wrapped === true;

const found = {
  kafka: isWrapped(Kafka.prototype.producer),
  pg: isWrapped(Client.prototype.query),
  grpc: isWrapped(Server.prototype.register),
  sdk: Object.keys(require.cache).some((file) => file.includes('auto-instrumentations-node')),
  sigtermListeners: process.listenerCount('SIGTERM'),
};
process.stdout.write(`FOUND ${JSON.stringify(found)}\n`);
process.exit(0);
