import { indexRecords } from './index-records.js';
import { callFigures, judgeCalls, type CallFigures } from './judge-calls.js';
import { judgeRuns } from './judge-runs.js';
import { judgeTopics, topicFigures, type TopicFigures } from './judge-topics.js';
import { judgeUndo } from './judge-undo.js';
import type { Records } from './records.js';

export interface Verdict {
  /** Empty = everything agrees. */
  readonly problems: readonly string[];
  readonly figures: CallFigures &
    TopicFigures & { readonly runs: number; readonly ends: Readonly<Record<string, number>> };
}

/** Compares what callers were told, what Baton has stored, what workers did and what is in Kafka. Pure. */
export function judge(records: Records): Verdict {
  const all = indexRecords(records);
  const ends: Record<string, number> = {};
  for (const { actual } of records.outcomes) ends[actual] = (ends[actual] ?? 0) + 1;
  const nothing = records.outcomes.length === 0 ? ['there is nothing to judge'] : [];
  return {
    problems: [...nothing, ...judgeRuns(all), ...judgeCalls(all), ...judgeUndo(all), ...judgeTopics(all)],
    figures: { runs: records.runs.length, ends, ...callFigures(all), ...topicFigures(all) },
  };
}
