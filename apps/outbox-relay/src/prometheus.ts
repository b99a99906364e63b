import type { Metrics } from '@baton/platform';
import type { OutboxRelay, RelayMetrics } from './relay/index.js';

/** Seconds from a fraction of a millisecond to a minute: what a row waits between its commit and Kafka. */
const BUCKETS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Topics are bounded by queues; run ids never become labels. */
export function relayMetrics(metrics: Metrics): RelayMetrics {
  const published = metrics.counter({
    name: 'outbox_published_total',
    help: 'rows acknowledged by Kafka',
    labels: ['topic'],
  });
  const retries = metrics.counter({
    name: 'outbox_retries_total',
    help: 'batches sent again, by what refused them',
    labels: ['code'],
  });
  const dead = metrics.counter({
    name: 'outbox_dead_total',
    help: 'rows that can never be published, by reason',
    labels: ['reason'],
  });
  const mismatches = metrics.counter({
    name: 'outbox_ack_mismatch_total',
    help: 'sends that the client called a success without an acknowledgement; must stay 0',
  });
  const send = metrics.histogram({
    name: 'outbox_send_seconds',
    help: 'one produce request',
    buckets: BUCKETS,
  });
  const commitToAck = metrics.histogram({
    name: 'outbox_commit_to_ack_seconds',
    help: 'from the commit of a row (clock of the database) to its acknowledgement (clock of the relay)',
    buckets: BUCKETS,
  });
  const sessions = metrics.counter({
    name: 'outbox_sessions_total',
    help: 'streams begun and lost, and catch-ups from the table',
    labels: ['event'],
  });
  return {
    published: (topic, rows) => published.inc({ topic }, rows),
    retried: (code) => retries.inc({ code }),
    died: (reason) => dead.inc({ reason }),
    ackMismatch: () => mismatches.inc(),
    sendSeconds: (seconds) => send.observe(seconds),
    commitToAckSeconds: (seconds) => commitToAck.observe(seconds),
    sessionStarted: () => sessions.inc({ event: 'started' }),
    sessionFailed: () => sessions.inc({ event: 'lost' }),
    caughtUp: () => sessions.inc({ event: 'caught-up' }),
  };
}

export function watchRelay(metrics: Metrics, relay: OutboxRelay): void {
  const gauge = (name: string, help: string, collect: () => number): void => {
    metrics.gauge({ name, help, collect });
  };
  gauge('outbox_streaming', '1 = this relay has the slot', () => Number(relay.status.phase === 'streaming'));
  gauge('outbox_lag_bytes', 'log of the server that is not confirmed', () => relay.status.session?.lagBytes ?? 0);
  gauge('outbox_lag_seconds', 'age of the oldest transaction that is not published', () => {
    const oldest = relay.status.session?.oldestCommitTimeMs ?? null;
    return oldest === null ? 0 : Math.max(0, Date.now() - oldest) / 1000;
  });
  gauge('outbox_rows_under_way', 'rows read and not settled', () => relay.status.session?.rows ?? 0);
  gauge('outbox_bytes_under_way', 'bytes of them', () => relay.status.session?.bytes ?? 0);
  gauge('outbox_lanes', 'topic-partitions in use', () => relay.status.session?.lanes ?? 0);
  gauge(
    'outbox_paused_seconds',
    'time for which reading was held back',
    () => (relay.status.session?.pausedMs ?? 0) / 1000,
  );
}
