import { createTopicReader, parseTopic, type ConsumedMessage, type PartitionRange } from '@baton/bus-kafka';
import type { Collector } from '../collector.js';
import type { Session } from '../session.js';
import { MessageJudge, namespaceOf, place } from './message-judge.js';
import { MOST_MESSAGES, TopicIndex, type PartitionWindow } from './topic-index.js';

export interface TopicsDeps {
  readonly session: Session;
  readonly collector: Collector;
  readonly brokers: string;
  readonly namespace: string | undefined;
  readonly full: boolean;
  readonly lastMessages: number;
}

/**
 * I8, and what I7 is compared with. Topics of the namespaces that have definitions here: a Kafka may serve others too.
 * Reads up to the ends that the partitions have now; what comes later is not looked at.
 */
export async function examineTopics(deps: TopicsDeps): Promise<TopicIndex> {
  const { session, collector, namespace } = deps;
  const reader = createTopicReader({ brokers: deps.brokers.split(','), clientId: 'baton-doctor' });
  try {
    const known = new Set((await session.rows<{ namespace: string }>('namespaces', [])).map((row) => row.namespace));
    const index = new TopicIndex();
    const judge = new MessageJudge(session, collector);
    const ranges: PartitionRange[] = [];
    for (const topic of await reader.listTopics()) {
      const name = parseTopic(topic);
      if (name === undefined || !known.has(name.namespace)) continue;
      if (namespace !== undefined && name.namespace !== namespace) continue;
      const chosen = (await reader.ranges(topic)).map((range) => shorten(range, deps));
      index.open(topic, chosen.map(windowOf));
      ranges.push(...chosen);
    }
    limit(ranges);
    await reader.read(ranges, async (messages) => {
      for (const message of messages) judgeOrder(index, message, collector);
      await judge.take(messages);
      collector.examined.messages += messages.length;
      collector.progress('messages', collector.examined.messages);
    });
    await judge.finish();
    return index;
  } finally {
    await reader.close();
  }
}

function shorten(range: PartitionRange, { full, lastMessages }: TopicsDeps): PartitionRange {
  const most = BigInt(lastMessages);
  return full || range.high - range.low <= most ? range : { ...range, low: range.high - most };
}

/** An empty partition whose messages have all gone by retention was not read whole. */
function windowOf({ partition, low }: PartitionRange): PartitionWindow {
  return { partition, whole: low === 0n, firstMs: null };
}

function limit(ranges: readonly PartitionRange[]): void {
  const messages = ranges.reduce((sum, range) => sum + Number(range.high - range.low), 0);
  if (messages <= MOST_MESSAGES) return;
  throw new Error(`${messages} messages are more than ${MOST_MESSAGES}: look at one namespace, or without --full`);
}

function judgeOrder(index: TopicIndex, message: ConsumedMessage, collector: Collector): void {
  const disorder = index.add(message);
  if (disorder === null) return;
  const { runId, runSeq, after } = disorder;
  const text = `run_seq ${runSeq} came for the first time after ${after} (${place(message)})`;
  collector.add({ invariant: 'I8', code: 'MESSAGES_OUT_OF_ORDER', message: text, ...namespaceOf(message), runId });
}
