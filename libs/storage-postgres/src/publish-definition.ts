import { text } from './decode.js';
import type { Row, Session } from './pool.js';
import { ExecutorSession, type SqlExecutor } from './start-on.js';

export interface NewDefinition {
  readonly namespace: string;
  readonly id: string;
  readonly version: number;
  /** JSON text, stored byte for byte. */
  readonly spec: string;
  /** sha256 over the canonical JSON of `spec`, in hex. */
  readonly contentHash: string;
}

export interface PublishedDefinition {
  /** true = this call made it, or brought a hidden version with this content back. */
  readonly created: boolean;
  /** What is published under this version. */
  readonly spec: string;
  readonly contentHash: string;
}

/** What a publication that creates the version does to the deployment. `newer`: only if the deployed version is lower. */
export type DeployOnPublish = 'always' | 'newer' | 'no';

/**
 * Publishes within the caller's transaction, if there is one. Other content under the version is no error here: it comes
 * back in the answer, and nothing was changed.
 */
export async function publishDefinitionOn(
  executor: SqlExecutor,
  definition: NewDefinition,
  deploy: DeployOnPublish,
): Promise<PublishedDefinition> {
  return publishIn(new ExecutorSession(executor), definition, deploy);
}

/** A session, or anything else that makes statements by name. */
export async function publishIn(
  session: Session,
  definition: NewDefinition,
  deploy: DeployOnPublish,
): Promise<PublishedDefinition> {
  const { namespace, id, version, spec, contentHash } = definition;
  const made = await session.run('publish-definition', { namespace, id, version, spec, contentHash, deploy });
  if (made.length > 0) return { created: true, spec, contentHash };
  const [row] = await session.run('read-published', { namespace, id, version });
  if (row === undefined) throw new Error(`version ${version} of ${id} vanished: definitions are never deleted`);
  return { created: false, ...published(row) };
}

function published([spec, contentHash]: Row): Pick<PublishedDefinition, 'spec' | 'contentHash'> {
  return { spec: text(spec), contentHash: text(contentHash) };
}
