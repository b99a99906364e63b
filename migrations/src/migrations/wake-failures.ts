import type { MigrationInterface, QueryRunner } from 'typeorm';
import { readSqlFile } from '../sql-file.js';

/** A count of failed wake-ups of a task (R21). */
export class WakeFailures1764547200002 implements MigrationInterface {
  readonly name = 'WakeFailures1764547200002';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(readSqlFile('0002-wake-failures.sql'));
  }

  async down(): Promise<void> {
    throw new Error('Migrations of Baton go forward only');
  }
}
