import { createHash } from 'node:crypto';
import { canonicalJson } from '@baton/core';
import { StoreError } from '@baton/engine';
import { publishDefinitionOn } from '@baton/storage-postgres';
import type { ChangedDefinition, SagaDefinition } from './saga-store.js';
import { fault, type Sql } from './sql.js';

/** W12: by the statement of the platform's registry, so that both modes read the same rows. It may be repeated. */
export async function publishDefinitions(
  db: Sql,
  namespace: string,
  definitions: readonly SagaDefinition[],
): Promise<readonly ChangedDefinition[]> {
  const changed: ChangedDefinition[] = [];
  for (const { id, version, spec } of definitions) {
    const contentHash = createHash('sha256').update(canonicalJson(spec)).digest('hex');
    // Never back: an old process that starts late deploys nothing.
    const publication = publishDefinitionOn(db, { namespace, id, version, spec, contentHash }, 'newer');
    const published = await publication.catch((error: unknown) => {
      throw fault(error instanceof StoreError ? error.cause : error);
    });
    if (published.contentHash !== contentHash) changed.push({ id, version, published: published.spec, ours: spec });
  }
  return changed;
}
