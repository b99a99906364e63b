import { publishDefinitionOn, type NewDefinition } from '@baton/storage-postgres';
import { ApiError } from '@baton/wire';
import type { EntityManager } from 'typeorm';
import { decodeCursor, encodeCursor } from './cursor.js';
import type { Database } from './database.js';
import { DeployedDefinition, WorkflowDefinition } from './entities.js';

export interface DefinitionRef {
  readonly namespace: string;
  readonly id: string;
  readonly version: number;
}

export interface StoredDefinition extends DefinitionRef {
  readonly contentHash: string;
  readonly deployed: boolean;
  readonly createdAt: Date;
  /** undefined in lists. */
  readonly spec?: string;
}

export interface DefinitionPage {
  readonly definitions: readonly StoredDefinition[];
  readonly nextCursor: string | null;
}

export interface ListDefinitions {
  readonly namespace: string;
  /** undefined = of every id the latest and the deployed version. */
  readonly id: string | undefined;
  readonly pageSize: number;
  readonly cursor: string;
}

/** Published versions and what is deployed. The namespace is in every statement (R28). */
export class DefinitionStore {
  constructor(private readonly database: Database) {}

  /**
   * Same version and content = nothing happens, not even a deployment: repeating an old publication must not roll a
   * newer version back. Other content under a version that exists, even a hidden one, is refused.
   */
  async publish(
    definition: NewDefinition,
    deploy: boolean,
  ): Promise<{ readonly stored: StoredDefinition; readonly created: boolean }> {
    return this.database.use((source) =>
      source.transaction(async (manager) => {
        const published = await publishDefinitionOn(manager, definition, deploy ? 'always' : 'no');
        if (published.contentHash !== definition.contentHash) throw versionExists(definition);
        return { stored: await this.read(manager, definition), created: published.created };
      }),
    );
  }

  async get(ref: DefinitionRef): Promise<StoredDefinition> {
    return this.database.use((source) => this.read(source.manager, ref));
  }

  async deployed(namespace: string, id: string): Promise<StoredDefinition> {
    return this.database.use(async (source) => {
      const row = await source.manager.findOneBy(DeployedDefinition, { namespace, id });
      if (row === null) throw notFound(`no version of ${id} is deployed`);
      return this.read(source.manager, { namespace, id, version: row.version });
    });
  }

  async deploy(ref: DefinitionRef): Promise<StoredDefinition> {
    return this.database.use((source) =>
      source.transaction(async (manager) => {
        await lockVisible(manager, ref);
        await deployVersion(manager, ref);
        return this.read(manager, ref);
      }),
    );
  }

  /** Hides a version, and takes it out of service if it was deployed. Runs that use it go on. */
  async delete(ref: DefinitionRef): Promise<void> {
    return this.database.use((source) =>
      source.transaction(async (manager) => {
        await lockVisible(manager, ref);
        await manager
          .createQueryBuilder()
          .update(WorkflowDefinition)
          .set({ deletedAt: () => 'baton.now()' })
          .where(keyOf(ref))
          .execute();
        await manager.delete(DeployedDefinition, keyOf(ref));
      }),
    );
  }

  async list(query: ListDefinitions): Promise<DefinitionPage> {
    const after = decodeCursor(query.cursor);
    return this.database.use(async (source) => {
      const rows = source
        .createQueryBuilder(WorkflowDefinition, 'd')
        .leftJoin(DeployedDefinition, 'p', 'p.namespace = d.namespace AND p.id = d.id')
        .select(['d.namespace AS namespace', 'd.id AS id', 'd.version AS version', 'd.content_hash AS hash'])
        .addSelect('d.created_at', 'created_at')
        .addSelect('(p.version IS NOT DISTINCT FROM d.version)', 'deployed')
        .where('d.namespace = :namespace AND d.deleted_at IS NULL', { namespace: query.namespace })
        .orderBy('d.id', 'ASC')
        .addOrderBy('d.version', 'DESC')
        .limit(query.pageSize + 1);
      if (query.id === undefined) rows.andWhere(`(d.version = p.version OR d.version = ${LATEST_VERSION})`);
      else rows.andWhere('d.id = :id', { id: query.id });
      if (after !== undefined) {
        rows.andWhere('(d.id > :afterId OR (d.id = :afterId AND d.version < :afterVersion))', {
          afterId: after.id,
          afterVersion: after.version,
        });
      }
      return toPage(await rows.getRawMany<ListRow>(), query.pageSize);
    });
  }

  private async read(manager: EntityManager, ref: DefinitionRef): Promise<StoredDefinition> {
    const row = await manager.findOneBy(WorkflowDefinition, keyOf(ref));
    if (row === null || row.deletedAt !== null) throw notFound(`no version ${ref.version} of ${ref.id}`);
    const deployed = await manager.existsBy(DeployedDefinition, keyOf(ref));
    const { namespace, id, version, contentHash, createdAt, spec } = row;
    return { namespace, id, version, contentHash, createdAt, spec, deployed };
  }
}

const LATEST_VERSION = `(SELECT max(l.version) FROM baton.workflow_definitions l
  WHERE l.namespace = d.namespace AND l.id = d.id AND l.deleted_at IS NULL)`;

interface ListRow {
  readonly namespace: string;
  readonly id: string;
  readonly version: number;
  readonly hash: string;
  readonly created_at: Date;
  readonly deployed: boolean;
}

function toPage(rows: readonly ListRow[], pageSize: number): DefinitionPage {
  const definitions = rows.slice(0, pageSize).map(({ namespace, id, version, hash, created_at, deployed }) => ({
    namespace,
    id,
    version,
    contentHash: hash,
    createdAt: created_at,
    deployed,
  }));
  const last = definitions.at(-1);
  return { definitions, nextCursor: rows.length > pageSize && last !== undefined ? encodeCursor(last) : null };
}

async function deployVersion(manager: EntityManager, ref: DefinitionRef): Promise<void> {
  await manager.query(
    `INSERT INTO baton.deployed_definitions (namespace, id, version, deployed_at) VALUES ($1, $2, $3, baton.now())
     ON CONFLICT (namespace, id) DO UPDATE SET version = EXCLUDED.version, deployed_at = EXCLUDED.deployed_at`,
    [ref.namespace, ref.id, ref.version],
  );
}

/** A deployment and a deletion of one version wait for each other. */
async function lockVisible(manager: EntityManager, ref: DefinitionRef): Promise<void> {
  const row = await manager.findOne(WorkflowDefinition, {
    select: { namespace: true, id: true, version: true, deletedAt: true },
    where: keyOf(ref),
    lock: { mode: 'pessimistic_write' },
  });
  if (row === null || row.deletedAt !== null) throw notFound(`no version ${ref.version} of ${ref.id}`);
}

function keyOf({ namespace, id, version }: DefinitionRef): DefinitionRef {
  return { namespace, id, version };
}

function versionExists({ id, version }: DefinitionRef): ApiError {
  const message = `version ${version} of ${id} is published with other content; publish a new version`;
  return new ApiError('conflict', 'DEFINITION_VERSION_EXISTS', message);
}

function notFound(message: string): ApiError {
  return new ApiError('not-found', 'DEFINITION_NOT_FOUND', message);
}
