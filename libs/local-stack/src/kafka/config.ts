import { join } from 'node:path';

export interface KafkaPorts {
  readonly broker: number;
  readonly controller: number;
  readonly extra?: ExtraListener;
}

/**
 * Another way in. Clients that come by it are told `advertisedPort`: a broker names the address for everything that
 * follows, so whoever stands between needs a listener of his own.
 */
export interface ExtraListener {
  readonly port: number;
  readonly advertisedPort: number;
}

/**
 * One node that is broker and controller, on loopback only. Made for development: single replicas, small buffers
 * (the log cleaner alone would take 128 MiB of heap), and a short broker session, because a restart after a crash
 * waits until the session of the dead broker is over.
 */
export function kafkaConfig(dataDir: string, ports: KafkaPorts): string {
  const { broker, controller, extra } = ports;
  const listeners = [`BROKER://127.0.0.1:${broker}`];
  const advertised = [...listeners];
  if (extra !== undefined) {
    listeners.push(`EXTRA://127.0.0.1:${extra.port}`);
    advertised.push(`EXTRA://127.0.0.1:${extra.advertisedPort}`);
  }
  const settings: Record<string, string | number | boolean> = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controller}`,
    listeners: [...listeners, `CONTROLLER://127.0.0.1:${controller}`].join(','),
    'advertised.listeners': advertised.join(','),
    'listener.security.protocol.map': 'BROKER:PLAINTEXT,EXTRA:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'BROKER',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': join(dataDir, 'data'),
    'auto.create.topics.enable': false,
    'num.partitions': 1,
    'default.replication.factor': 1,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    'share.coordinator.state.topic.num.partitions': 1,
    'group.initial.rebalance.delay.ms': 0,
    'log.cleaner.dedupe.buffer.size': 4 * 1024 * 1024,
    'log.index.size.max.bytes': 1024 * 1024,
    'broker.session.timeout.ms': 3000,
    'broker.heartbeat.interval.ms': 500,
  };
  return Object.entries(settings)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('');
}

/** A light broker by default; with a larger heap the full compiler too, as a bench wants it. */
export function jvmFlags(heap: string): readonly string[] {
  const common = [`-Xmx${heap}`, '-Xss512k', '-XX:+UseSerialGC', '-XX:-UsePerfData', '-XX:+ExitOnOutOfMemoryError'];
  return heap === DEFAULT_HEAP ? [...common, '-XX:TieredStopAtLevel=1', '-XX:ReservedCodeCacheSize=64m'] : common;
}

export const DEFAULT_HEAP = '128m';
