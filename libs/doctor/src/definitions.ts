import { parseDefinition, type Dag, type RunState } from '@baton/core';
import { templateCompiler } from '@baton/expressions';
import { readDefinition } from '@baton/storage-postgres';
import type { Reader } from './session.js';

const MOST = 200;

/** The graph that a run is pinned to; a text = why there is none. */
export class Definitions {
  private readonly known = new Map<string, Dag | string>();

  async of(reader: Reader, state: RunState): Promise<Dag | string> {
    const { namespace, definitionId: id, definitionVersion: version } = state;
    const key = `${namespace} ${id} ${version}`;
    let found = this.known.get(key);
    if (found === undefined) {
      found = parsed(await readDefinition(reader.client, { namespace, id, version }));
      if (this.known.size >= MOST) this.known.clear();
      this.known.set(key, found);
    }
    return found;
  }
}

function parsed(text: string | undefined): Dag | string {
  if (text === undefined) return 'it does not exist';
  const result = parseDefinition(text, templateCompiler);
  return result.ok ? result.dag : `it cannot be read: ${result.issues[0]?.message ?? 'unknown'}`;
}
