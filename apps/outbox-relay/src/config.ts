import { hostname } from 'node:os';
import { countSetting, databaseUrlSetting, kafkaBrokersSetting, setting, type ServiceConfig } from '@baton/platform';
import { z } from 'zod';

const plainName = (fallback: string) =>
  z
    .string()
    .trim()
    .regex(/^[a-z_][a-z0-9_]{0,62}$/, 'must be a plain name of a-z, 0-9 and _')
    .optional()
    .transform((name) => name ?? fallback);

export const relaySettings = {
  databaseUrl: databaseUrlSetting,
  brokers: kafkaBrokersSetting,
  slot: setting('BATON_RELAY_SLOT', plainName('baton_outbox'), {
    about: 'replication slot; created when it is missing',
  }),
  publication: setting('BATON_RELAY_PUBLICATION', plainName('baton_outbox'), {
    about: 'publication of the outbox; made by the migrations',
  }),
  partitions: countSetting(
    'BATON_TOPIC_PARTITIONS',
    { min: 1, max: 1000, fallback: 4 },
    'partitions of topics that the relay creates',
  ),
  replicationFactor: countSetting(
    'BATON_TOPIC_REPLICATION_FACTOR',
    { min: 1, max: 9, fallback: 1 },
    'replicas of topics that the relay creates; 3 in production',
  ),
  maxRows: countSetting(
    'BATON_RELAY_MAX_ROWS',
    { min: 1, max: 10_000_000, fallback: 20_000 },
    'rows under way above which reading stops for a while',
  ),
  maxBytes: countSetting(
    'BATON_RELAY_MAX_BYTES',
    { min: 1024, max: 1_073_741_824, fallback: 32 * 1024 * 1024 },
    'bytes under way above which reading stops for a while',
  ),
  walSenderTimeoutMs: countSetting(
    'BATON_RELAY_WAL_SENDER_TIMEOUT_MS',
    { min: 1000, max: 600_000, fallback: 5000 },
    'after this the server takes the slot away from a relay that does not answer',
  ),
};

export type RelayConfig = ServiceConfig<typeof relaySettings>;

/** Unique among the relays of one database, and readable. */
export const ownerName = (): string => `${hostname()}:${process.pid}`;
