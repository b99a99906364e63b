import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Layout } from './layout.js';

export interface DemoRun {
  readonly name: string;
  readonly input: unknown;
  readonly expected: string;
}

export interface DemoResult {
  readonly name: string;
  readonly runId: string;
  readonly status: string;
  readonly expected: string;
  readonly ok: boolean;
}

/** What the demo needs of the gateway. */
export interface DemoGateway {
  /** The text of a definition; publishing the same again changes nothing. */
  publish(spec: string): Promise<void>;
  start(definitionId: string, definitionVersion: number, input: unknown): Promise<string>;
  /** Waits up to the time given and tells the status then. */
  awaitEnd(runId: string, waitMs: number): Promise<{ readonly status: string; readonly finished: boolean }>;
}

export interface DemoOptions {
  readonly layout: Layout;
  readonly gateway: DemoGateway;
  /** Shows a run while it goes on; resolves when it has ended. */
  readonly watch?: (run: DemoRun, runId: string) => Promise<void>;
  readonly timeoutMs?: number;
}

const POLL_MS = 2_000;
const DEFAULT_TIMEOUT_MS = 120_000;

/** Publishes the example's definition and runs its three demo runs, each to its end. */
export async function runDemo({
  layout,
  gateway,
  watch,
  timeoutMs = DEFAULT_TIMEOUT_MS,
}: DemoOptions): Promise<readonly DemoResult[]> {
  const folder = join(layout.project, 'examples', 'order-fulfilment');
  const spec = readFileSync(join(folder, 'definition.json'), 'utf8');
  const runs = JSON.parse(readFileSync(join(folder, 'demo-runs.json'), 'utf8')) as readonly DemoRun[];
  const { id, version } = JSON.parse(spec) as { id: string; version: number };
  await gateway.publish(spec);
  const complete = async (run: DemoRun): Promise<DemoResult> => {
    const runId = await gateway.start(id, version, run.input);
    await watch?.(run, runId);
    const status = await statusAtEnd(gateway, runId, performance.now() + timeoutMs);
    return { name: run.name, runId, status, expected: run.expected, ok: status === run.expected };
  };
  if (watch === undefined) return Promise.all(runs.map(complete));
  // One after the other: a screen shows one live tree.
  const results: DemoResult[] = [];
  for (const run of runs) results.push(await complete(run));
  return results;
}

/** The terminal status, or where the run stands when the time is over. */
async function statusAtEnd(gateway: DemoGateway, runId: string, deadline: number): Promise<string> {
  for (;;) {
    const { status, finished } = await gateway.awaitEnd(runId, POLL_MS);
    if (finished || performance.now() >= deadline) return status;
  }
}
