import type { MigrationInterface, QueryRunner } from 'typeorm';
import { readSqlFile } from '../sql-file.js';

export class Initial1764460800001 implements MigrationInterface {
  readonly name = 'Initial1764460800001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(readSqlFile('0001-initial.sql'));
  }

  async down(): Promise<void> {
    throw new Error('Migrations of Baton go forward only');
  }
}
