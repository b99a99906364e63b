import type { Dag } from '@baton/core';
import { BoundedMap } from './bounded-map.js';

/** A version that does not exist, or whose text this release cannot read. */
export type DefinitionMiss = { readonly missing: true; readonly reason: string };

export interface LoadedDefinition {
  readonly dag: Dag;
  /** Length of its text: what it takes of the cache. */
  readonly size: number;
}

export interface DefinitionSource {
  load(namespace: string, id: string, version: number): Promise<LoadedDefinition | DefinitionMiss>;
}

/** What the smallest definition takes when it is parsed. */
const leastSize = 2_000;

/**
 * Versions are immutable: the perfect cache key. Single flight, bounded; what does not exist is asked for again,
 * since it may be published a moment later. Deleted versions still load: that is the source's business.
 */
export class DefinitionCache {
  private readonly ready: BoundedMap<Dag>;
  private readonly flights = new Map<string, Promise<Dag | DefinitionMiss>>();

  constructor(
    private readonly source: DefinitionSource,
    capacity: number,
  ) {
    this.ready = new BoundedMap(capacity);
  }

  peek(namespace: string, id: string, version: number): Dag | undefined {
    return this.ready.get(keyOf(namespace, id, version));
  }

  load(namespace: string, id: string, version: number): Promise<Dag | DefinitionMiss> {
    const key = keyOf(namespace, id, version);
    const found = this.ready.get(key);
    if (found !== undefined) return Promise.resolve(found);
    const flying = this.flights.get(key);
    if (flying !== undefined) return flying;
    const flight = this.source
      .load(namespace, id, version)
      .then((loaded) => {
        if (isMiss(loaded)) return loaded;
        this.ready.set(key, loaded.dag, leastSize + loaded.size);
        return loaded.dag;
      })
      .finally(() => this.flights.delete(key));
    this.flights.set(key, flight);
    return flight;
  }
}

export function isMiss(loaded: Dag | LoadedDefinition | DefinitionMiss): loaded is DefinitionMiss {
  return 'missing' in loaded;
}

function keyOf(namespace: string, id: string, version: number): string {
  return `${namespace}/${id}@${version}`;
}
