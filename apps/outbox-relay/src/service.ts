import { Module, type DynamicModule } from '@nestjs/common';
import type { BusLog } from '@baton/bus-kafka';
import type { Logger, Platform, ServiceDefinition } from '@baton/platform';
import { ownerName, relaySettings, type RelayConfig } from './config.js';
import { relayMetrics, watchRelay } from './prometheus.js';
import { OutboxRelay } from './relay/index.js';

@Module({})
class OutboxRelayModule {
  static around(relay: OutboxRelay): DynamicModule {
    const lifecycle = { onApplicationBootstrap: () => relay.start() };
    return {
      module: OutboxRelayModule,
      providers: [
        { provide: OutboxRelay, useValue: relay },
        { provide: 'RELAY_START', useValue: lifecycle },
      ],
    };
  }
}

/** Part of the stop's time limit that rows under way get; the rest is for saying goodbye. */
const DRAIN_SHARE = 0.5;

function createRelay(platform: Platform<RelayConfig>): OutboxRelay {
  const { config, logger, metrics } = platform;
  return new OutboxRelay({
    databaseUrl: config.databaseUrl,
    brokers: config.brokers,
    slot: config.slot,
    publication: config.publication,
    owner: ownerName(),
    layout: { partitions: config.partitions, replicationFactor: config.replicationFactor },
    limits: { maxRows: config.maxRows, maxBytes: config.maxBytes },
    walSenderTimeoutMs: config.walSenderTimeoutMs,
    drainMs: config.shutdownTimeoutMs * DRAIN_SHARE,
    metrics: relayMetrics(metrics),
    log: busLog(logger),
  });
}

export const outboxRelayService: ServiceDefinition<typeof relaySettings> = {
  name: 'outbox-relay',
  adminPort: 9083,
  settings: relaySettings,
  module: (platform) => {
    const relay = createRelay(platform);
    platform.readiness.addCheck('relay', () => relay.notReady());
    watchRelay(platform.metrics, relay);
    platform.lifecycle.onShutdown('intake', 'relay', () => relay.stop());
    return OutboxRelayModule.around(relay);
  },
};

const busLog = (logger: Logger): BusLog => ({
  debug: (message, fields) => logger.debug(fields ?? {}, message),
  info: (message, fields) => logger.info(fields ?? {}, message),
  warn: (message, fields) => logger.warn(fields ?? {}, message),
  error: (message, fields) => logger.error(fields ?? {}, message),
});
