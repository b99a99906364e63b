import { logLevel, type LogEntry, type logCreator } from 'kafkajs';
import type { BusLog } from '../log.js';

/**
 * Expected in normal running, retried by the client, and no news to anybody: the first use of a group or of a topic,
 * a rebalance, a leader that moved.
 */
const expected = [
  /coordinator is (not available|loading)/i,
  /coordinator.*load/i,
  /not the correct coordinator/i,
  /group is rebalancing/i,
  /rebalance/i,
  /not aware of this member/i,
  /does not host this topic-partition/i,
  /no leader for this topic-partition/i,
  /leadership election/i,
  /client was closed/i,
];

const REPEAT_MS = 10_000;
const MOST_REMEMBERED = 200;

/**
 * kafkajs logs each failed try as an error, also those that it retries. Callers of this library log what they
 * decide; the client's own lines are warnings, each text at most once in ten seconds.
 */
export function quietLogCreator(log: BusLog): logCreator {
  const lastAt = new Map<string, number>();
  return () =>
    ({ namespace, level, log: entry }: LogEntry): void => {
      const error: unknown = entry['error'];
      const message = typeof error === 'string' && error !== '' ? `${entry.message}: ${error}` : entry.message;
      const fields = { kafkajs: namespace, broker: entry['broker'] as unknown, group: entry['groupId'] as unknown };
      if (level > logLevel.WARN || expected.some((pattern) => pattern.test(message))) {
        log.debug(message, fields);
        return;
      }
      const now = Date.now();
      const last = lastAt.get(message);
      if (last !== undefined && now - last < REPEAT_MS) return;
      if (lastAt.size > MOST_REMEMBERED) lastAt.clear();
      lastAt.set(message, now);
      log.warn(message, fields);
    };
}
