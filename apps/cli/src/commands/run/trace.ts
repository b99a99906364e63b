import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal, type RunStatus } from '@baton/core';
import type { Command } from 'commander';
import { segment, type Answer } from '../../client/gateway.js';
import type { HistoryEntryView, NodeOutline, RunDetailsView } from '../../client/views.js';
import { usesColour, type Screen } from '../../io/output.js';
import { LiveLines } from '../../render/live-lines.js';
import { renderRunTree } from '../../render/run-tree.js';
import { clientCommand, openSession, type ClientOptions, type Session } from '../client-command.js';
import { fetchHistory } from './show.js';

const pollMs = 300;
const recentEntries = 5;

interface Snapshot {
  readonly details: Answer<RunDetailsView>;
  readonly history: readonly HistoryEntryView[];
}

export function register(run: Command, screen: Screen): void {
  clientCommand(run, 'trace <run>', 'a run as a live tree, until it has ended')
    .option('--once', 'as it is now')
    .action(async (runId: string, options: ClientOptions & { once?: boolean }) => {
      await trace(openSession(options, screen), runId, options.once === true);
    });
}

/** Draws a run until it has ended or the signal comes, or once. */
export async function trace(session: Session, runId: string, once: boolean, signal?: AbortSignal): Promise<void> {
  const { screen, format } = session;
  let snapshot = await look(session, runId, []);
  const nodes = await fetchOutline(session, snapshot.details.view);
  const live = new LiveLines(screen);
  const draw = (recent: number): string[] => {
    const { details, history } = snapshot;
    const options = { now: Date.now(), colour: usesColour(screen), recent };
    const input = {
      run: details.view.run,
      tasks: details.view.tasks,
      history,
      ...(nodes === undefined ? {} : { nodes }),
    };
    return renderRunTree(input, screen.width === undefined ? options : { ...options, width: screen.width });
  };
  while (!once && signal?.aborted !== true && !isTerminal(snapshot.details.view.run.status as RunStatus)) {
    if (format === 'table') live.show(draw(recentEntries));
    await sleep(pollMs);
    snapshot = await look(session, runId, snapshot.history);
  }
  if (format === 'json') screen.out(`${snapshot.details.text.trimEnd()}\n`);
  else live.finish(draw(once ? 0 : recentEntries));
}

async function look(session: Session, runId: string, known: readonly HistoryEntryView[]): Promise<Snapshot> {
  const details = await session.gateway.call<RunDetailsView>({ method: 'GET', path: `/v1/runs/${segment(runId)}` });
  const fresh = await fetchHistory(session, runId, known.at(-1)?.seq ?? 0);
  return { details, history: [...known, ...fresh] };
}

/** The graph makes a better picture, but a run can be drawn without it (its definition may be deleted). */
async function fetchOutline(
  { gateway }: Session,
  { run }: RunDetailsView,
): Promise<readonly NodeOutline[] | undefined> {
  const path = `/v1/definitions/${segment(run.definitionId)}/versions/${run.definitionVersion}`;
  try {
    const { view } = await gateway.call<{ spec?: unknown }>({ method: 'GET', path });
    return outlineOf(view.spec);
  } catch {
    return undefined;
  }
}

/** Reads the nodes of a definition as it was published. */
export function outlineOf(spec: unknown): readonly NodeOutline[] | undefined {
  const nodes = (spec as { nodes?: unknown } | null | undefined)?.nodes;
  if (!Array.isArray(nodes)) return undefined;
  return nodes.map((node: { id?: unknown; type?: unknown; after?: unknown }) => ({
    id: String(node.id),
    type: String(node.type),
    after: Array.isArray(node.after) ? node.after.map(String) : [],
  }));
}
