import { createHash } from 'node:crypto';
import { canonicalJson } from '@baton/core';
import type { ChangedDefinition, SagaDefinition } from './saga-store.js';
import type { Sql } from './sql.js';

const INSERT = `INSERT INTO baton.workflow_definitions (namespace, id, version, spec, content_hash)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`;
const READ = `SELECT spec, content_hash FROM baton.workflow_definitions WHERE namespace = $1 AND id = $2 AND version = $3`;
/** Never back: an old process that starts late deploys nothing. */
const DEPLOY = `INSERT INTO baton.deployed_definitions AS d (namespace, id, version) VALUES ($1, $2, $3)
  ON CONFLICT (namespace, id) DO UPDATE SET version = excluded.version, deployed_at = baton.now()
  WHERE d.version < excluded.version`;

/** W12: as the registry of the platform writes it, so that both modes read the same rows. Each statement may be repeated. */
export async function publishDefinitions(
  db: Sql,
  namespace: string,
  definitions: readonly SagaDefinition[],
): Promise<readonly ChangedDefinition[]> {
  const changed: ChangedDefinition[] = [];
  for (const { id, version, spec } of definitions) {
    const hash = createHash('sha256').update(canonicalJson(spec)).digest('hex');
    const key = [namespace, id, version];
    let [row] = await db.query(READ, key);
    if (row === undefined) {
      await db.query(INSERT, [...key, spec, hash]);
      [row] = await db.query(READ, key);
    }
    if (row?.['content_hash'] === hash) await db.query(DEPLOY, key);
    else changed.push({ id, version, published: String(row?.['spec']), ours: spec });
  }
  return changed;
}
