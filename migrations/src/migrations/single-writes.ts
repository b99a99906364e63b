import type { MigrationInterface, QueryRunner } from 'typeorm';
import { readSqlFile } from '../sql-file.js';

/** The write of one run as a function: a start with one task, a report that closes one task. */
export class SingleWrites1764547200004 implements MigrationInterface {
  readonly name = 'SingleWrites1764547200004';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(readSqlFile('0003-single-writes.sql'));
  }

  async down(): Promise<void> {
    throw new Error('Migrations of Baton go forward only');
  }
}
