import { Client } from 'pg';
import { LIBRARY_SET, migrationNames, PUBLICATION_SET, SCHEMA_SET, type MigrationSet } from './migration-sets.js';

/** Number of the schema that this build works with. */
export const SCHEMA_VERSION = SCHEMA_SET.migrations.length;

export interface MigrationSetStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Applied by a newer build. */
  readonly unknown: readonly string[];
}

export interface MigrationStatus {
  readonly schema: MigrationSetStatus;
  /** All pending in embedded mode, which needs none of it (R29). */
  readonly publication: MigrationSetStatus;
  /** All pending where no embedded runtime works: the platform needs none of it (R29). */
  readonly library: MigrationSetStatus;
}

export interface SchemaCheck {
  readonly state: 'ok' | 'too-old' | 'too-new';
  /** One sentence for people: what is the matter and what to do. */
  readonly message: string;
}

/** A client or a pool of `pg`. */
export interface SchemaReader {
  query(text: string): Promise<{ readonly rows: readonly Record<string, unknown>[] }>;
}

/** Reads only: a database without a schema stays without one. */
export async function migrationStatus(url: string): Promise<MigrationStatus> {
  const client = new Client({ connectionString: url, application_name: 'baton migrate' });
  // A connection that dies between two queries must not take the process down; the next query reports it.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return {
      schema: await readStatus(client, SCHEMA_SET),
      publication: await readStatus(client, PUBLICATION_SET),
      library: await readStatus(client, LIBRARY_SET),
    };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * What a service asks before it calls itself ready. `library`: what the embedded runtime reads by must be there too
 * (R29).
 */
export async function checkSchemaVersion(
  reader: SchemaReader,
  { library = false }: { readonly library?: boolean } = {},
): Promise<SchemaCheck> {
  const command = library ? 'baton migrate up --library' : 'baton migrate up';
  const { applied, pending, unknown } = await readStatus(reader, SCHEMA_SET);
  if (unknown.length > 0) {
    return {
      state: 'too-new',
      message: `The database has schema version ${applied.length + unknown.length}, made by a newer Baton; this one works with version ${SCHEMA_VERSION}: run the newer build.`,
    };
  }
  if (pending.length > 0) {
    const found = applied.length === 0 ? 'no Baton schema' : `schema version ${applied.length}`;
    return {
      state: 'too-old',
      message: `The database has ${found}; this build needs version ${SCHEMA_VERSION}: run "${command}".`,
    };
  }
  if (library && (await readStatus(reader, LIBRARY_SET)).pending.length > 0) {
    return {
      state: 'too-old',
      message: `The database has no indexes for the embedded runtime: run "${command}".`,
    };
  }
  return { state: 'ok', message: `The database has schema version ${SCHEMA_VERSION}.` };
}

async function readStatus(reader: SchemaReader, set: MigrationSet): Promise<MigrationSetStatus> {
  const known = migrationNames(set);
  const stored = await readAppliedNames(reader, set.table);
  return {
    applied: known.filter((name) => stored.has(name)),
    pending: known.filter((name) => !stored.has(name)),
    unknown: [...stored].filter((name) => !known.includes(name)),
  };
}

async function readAppliedNames(reader: SchemaReader, table: string): Promise<ReadonlySet<string>> {
  const found = await reader.query(`SELECT to_regclass('baton.${table}') IS NOT NULL AS present`);
  if (found.rows[0]?.['present'] !== true) return new Set();
  const { rows } = await reader.query(`SELECT name FROM baton.${table} ORDER BY id`);
  return new Set(rows.map((row) => String(row['name'])));
}
