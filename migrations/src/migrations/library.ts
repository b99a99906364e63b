import type { MigrationInterface, QueryRunner } from 'typeorm';
import { readSqlFile } from '../sql-file.js';

/** What claims and readers of events look rows up by (R29): in library mode only. */
export class Library1764547200003 implements MigrationInterface {
  readonly name = 'Library1764547200003';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(readSqlFile('library-0001.sql'));
  }

  async down(): Promise<void> {
    throw new Error('Migrations of Baton go forward only');
  }
}
