import { groupBy, type Indexed } from './index-records.js';
import type { MessageRecord, OutboxRecord } from './records.js';

export interface TopicFigures {
  readonly outboxRows: number;
  readonly messages: number;
  /** Messages that came again: delivery is at least once. */
  readonly duplicateMessages: number;
}

/**
 * I7, I8: what was committed is in Kafka, as it was committed, and nothing else is; of each run and topic the first
 * occurrences are in one partition and in the order of run_seq; numbers have no gap. The events topic tells each run's
 * end once.
 */
export function judgeTopics(all: Indexed): string[] {
  const rows = new Map(all.outbox.map((row) => [row.id, row]));
  const seen = new Set(all.messages.map((message) => message.id));
  return [
    ...(all.deadOutboxRows === 0 ? [] : [`${all.deadOutboxRows} outbox rows are dead`]),
    ...all.outbox.filter((row) => !seen.has(row.id)).map((row) => `committed, but not in Kafka: ${nameOf(row)}`),
    ...all.messages.flatMap((message) => strangeMessage(message, rows.get(message.id))),
    ...wrongOrder(all.messages),
    ...gaps(all),
    ...wrongEnds(all),
  ];
}

function strangeMessage(message: MessageRecord, row: OutboxRecord | undefined): string[] {
  const name = `${message.topic}/${message.partition} ${message.id}`;
  if (row === undefined) return [`in Kafka, but never committed: ${name}`];
  const same =
    row.topic === message.topic &&
    row.runId === message.key &&
    row.runSeq === message.runSeq &&
    row.type === message.type &&
    row.payload === message.value;
  return same ? [] : [`in Kafka other than it was committed: ${name}`];
}

/** `messages` are in the order of their offsets within each partition. */
function wrongOrder(messages: readonly MessageRecord[]): string[] {
  const problems: string[] = [];
  for (const [stream, own] of groupBy(messages, (message) => `${message.key} ${message.topic}`)) {
    const partitions = new Set(own.map((message) => message.partition));
    if (partitions.size > 1) problems.push(`in ${partitions.size} partitions: ${stream}`);
    const firsts = new Set<string>();
    let highest = 0;
    for (const message of own) {
      if (firsts.has(message.id)) continue;
      firsts.add(message.id);
      if (message.runSeq <= highest) problems.push(`out of order: ${stream}, ${message.runSeq} after ${highest}`);
      highest = Math.max(highest, message.runSeq);
    }
  }
  return problems;
}

/** run_seq counts all rows of a run over all topics: 1, 2, 3, … up to the number on the run. */
function gaps(all: Indexed): string[] {
  const byRun = groupBy(all.outbox, (row) => row.runId);
  return all.runs.flatMap((run) => {
    const numbers = (byRun.get(run.runId) ?? []).map((row) => row.runSeq).sort((a, b) => a - b);
    const isWhole = numbers.length === run.outboxSeq && numbers.every((number, index) => number === index + 1);
    return isWhole ? [] : [`outbox numbers of run ${run.runId} are ${numbers.join(' ')}, of ${run.outboxSeq}`];
  });
}

const ENDINGS = new Set(['run.succeeded', 'run.failed', 'run.compensated', 'run.compensation_failed', 'run.cancelled', 'run.expired']); // prettier-ignore

function wrongEnds(all: Indexed): string[] {
  const ends = groupBy(
    all.messages.filter((message) => ENDINGS.has(message.type)),
    (message) => message.key,
  );
  return all.runs.flatMap((run) => {
    const own = ends.get(run.runId) ?? [];
    const ids = new Set(own.map((message) => message.id));
    const wanted = `run.${run.status.toLowerCase()}`;
    if (ids.size === 1 && own.every((message) => message.type === wanted)) return [];
    return [
      `run ${run.runId} is ${run.status}; the events tell ${ids.size} ends: ${own.map((m) => m.type).join(', ')}`,
    ];
  });
}

const nameOf = (row: OutboxRecord): string => `${row.topic} ${row.id} (${row.type}, ${row.runId} ${row.runSeq})`;

export function topicFigures(all: Indexed): TopicFigures {
  const distinct = new Set(all.messages.map((message) => message.id));
  return {
    outboxRows: all.outbox.length,
    messages: all.messages.length,
    duplicateMessages: all.messages.length - distinct.size,
  };
}
