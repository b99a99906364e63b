import type { MigrationInterface } from 'typeorm';
import { Initial1764460800001 } from './migrations/initial.js';
import { Library1764547200003 } from './migrations/library.js';
import { Publication1764460800001 } from './migrations/publication.js';
import { SingleWrites1764547200004 } from './migrations/single-writes.js';
import { WakeFailures1764547200002 } from './migrations/wake-failures.js';

/** Migrations are listed one by one, in order; a glob would find other files after bundling, or none. */
export interface MigrationSet {
  readonly label: 'schema' | 'publication' | 'library';
  /** In schema `baton`. */
  readonly table: string;
  readonly migrations: readonly (new () => MigrationInterface)[];
}

export const SCHEMA_SET: MigrationSet = {
  label: 'schema',
  table: 'schema_migrations',
  migrations: [Initial1764460800001, WakeFailures1764547200002, SingleWrites1764547200004],
};

/** A set of its own: embedded mode needs neither logical decoding nor the privileges for it (R29). */
export const PUBLICATION_SET: MigrationSet = {
  label: 'publication',
  table: 'publication_migrations',
  migrations: [Publication1764460800001],
};

/** What only the embedded runtime reads by (R29): the platform never pays for these indexes. */
export const LIBRARY_SET: MigrationSet = {
  label: 'library',
  table: 'library_migrations',
  migrations: [Library1764547200003],
};

export function migrationNames(set: MigrationSet): readonly string[] {
  return set.migrations.map((migration) => migration.name);
}
