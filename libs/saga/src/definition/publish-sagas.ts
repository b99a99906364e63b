import type { JsonText } from '@baton/core';
import { SagaError } from '../journal/errors.js';
import { diffDefinitions } from './diff-definitions.js';
import type { SagaResolver } from './saga.js';

/** Where definitions are published: a database, or the registry of the platform. What is published never changes. */
export interface DefinitionPublisher {
  /**
   * Publishes what is not there yet, and makes the newest of each id the one that is deployed. Answers those whose
   * version was there with other content; nothing of those is written.
   */
  publish(
    namespace: string,
    definitions: readonly { readonly id: string; readonly version: number; readonly spec: JsonText }[],
  ): Promise<readonly PublishedOtherwise[]>;
}

export interface PublishedOtherwise {
  readonly id: string;
  readonly version: number;
  /** What is there. */
  readonly published: JsonText;
  readonly ours: JsonText;
}

/**
 * Publishes the sagas of a process (W12). A run is pinned to the id and version that it began with, so the steps under
 * them must not change: rejects with `DEFINITION_CHANGED` (conflict) if a version is published with other content, and
 * `details` name the steps that were added, removed, reordered or changed. The remedy is a new version.
 */
export async function publishSagas(
  publisher: DefinitionPublisher,
  namespace: string,
  sagas: Pick<SagaResolver, 'all'>,
): Promise<void> {
  const definitions = sagas.all().map(({ id, version, spec }) => ({ id, version, spec }));
  if (definitions.length === 0) return;
  const changed = await publisher.publish(namespace, definitions);
  if (changed.length > 0) throw definitionChanged(changed);
}

function definitionChanged(changed: readonly PublishedOtherwise[]): SagaError {
  const details = changed.flatMap(({ id, version, published, ours }) =>
    diffDefinitions(published, ours, `/${id}@${version}`),
  );
  const each = changed.map(({ id, version, published, ours }) => {
    const differences = diffDefinitions(published, ours, '').map(({ message }) => message);
    return `${id}@${version}: ${differences.join('; ') || 'its text differs'}`;
  });
  const message = `published already, and not the same: ${each.join('. ')}. Raise the version: runs in flight stay with theirs`;
  return new SagaError('conflict', 'DEFINITION_CHANGED', message, { details });
}
