import type { MigrationInterface, QueryRunner } from 'typeorm';
import { readSqlFile } from '../sql-file.js';

/** What the relay's slot reads (R26, R29): in platform mode only. */
export class Publication1764460800001 implements MigrationInterface {
  readonly name = 'Publication1764460800001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(readSqlFile('publication-0001.sql'));
  }

  async down(): Promise<void> {
    throw new Error('Migrations of Baton go forward only');
  }
}
