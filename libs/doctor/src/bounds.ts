import { millisOf } from './instants.js';
import type { Reader } from './session.js';

/** From where on rows must be there: what is older may have been dropped with its partition (R25). */
export interface Bounds {
  /** Least run id; runs below it may be gone. */
  readonly runs: string;
  /** Unix milliseconds; outbox rows before it may be gone. */
  readonly outboxMs: number;
}

const LOWER = /^FOR VALUES FROM \('([^']+)'\)/;
const NOTHING_DROPPED = '00000000-0000-0000-0000-000000000000';

export async function readBounds(reader: Reader): Promise<Bounds> {
  const rows = await reader.rows<{ relation: string; bound: string | null }>('partition-bounds', []);
  const lowest = (relation: string): string | undefined =>
    rows
      .filter((row) => row.relation === relation)
      .map((row) => LOWER.exec(row.bound ?? '')?.[1])
      .filter((bound) => bound !== undefined)
      .sort()[0];
  const outbox = lowest('outbox');
  return {
    runs: lowest('workflow_runs') ?? NOTHING_DROPPED,
    outboxMs: outbox === undefined ? -Infinity : millisOf(outbox),
  };
}
