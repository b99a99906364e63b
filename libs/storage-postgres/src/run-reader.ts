import type { RunRef, StoredRun } from '@baton/engine';
import type { ClientBase } from 'pg';
import { text } from './decode.js';
import { decodeRuns, refColumns } from './runs.js';
import { bind, statement } from './statements.js';

/** Runs with their task rows, as the engine reads them, on a connection and in a snapshot of the caller's. */
export async function readRunStates(
  client: Pick<ClientBase, 'query'>,
  refs: readonly RunRef[],
): Promise<ReadonlyMap<string, StoredRun>> {
  const { rows } = await client.query<unknown[]>(bind(statement('read-runs'), { runs: refColumns(refs) }));
  return decodeRuns(rows, refs);
}

/** The text of a definition's version; undefined = there is none. */
export async function readDefinition(
  client: Pick<ClientBase, 'query'>,
  definition: { readonly namespace: string; readonly id: string; readonly version: number },
): Promise<string | undefined> {
  const { rows } = await client.query<unknown[]>(bind(statement('load-definition'), { ...definition }));
  return rows[0] === undefined ? undefined : text(rows[0][0]);
}
