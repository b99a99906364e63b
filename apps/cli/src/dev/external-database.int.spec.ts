import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, type RunningPostgres } from '@baton/local-stack';
import { createDatabase, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import { checkExternalDatabase } from './external-database.js';

describe('a PostgreSQL that exists already', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase({ migrated: false });
  });

  afterAll(() => database.drop());

  it('is used when it decodes logically and the role may replicate', async () => {
    await expect(checkExternalDatabase(database.url)).resolves.toBeUndefined();
  });

  it('is refused in one sentence when the role may not replicate', async () => {
    const role = `plain_${process.pid}`;
    const admin = new Client({ connectionString: database.url });
    await admin.connect();
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'plain'`);
    const url = Object.assign(new URL(database.url), { username: role, password: 'plain' }).toString();
    await expect(checkExternalDatabase(url)).rejects.toThrow(`run "ALTER ROLE ${role} REPLICATION"`);
    await admin.query(`DROP ROLE ${role}`);
    await admin.end();
  });

  it('is refused in one sentence when the credentials are wrong', async () => {
    const url = Object.assign(new URL(database.url), { username: 'nobody', password: 'wrong' }).toString();
    await expect(checkExternalDatabase(url)).rejects.toThrow(/refuses the connection: .*nobody/);
  });

  describe('without logical decoding', () => {
    let server: RunningPostgres;
    let dir: string;

    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), 'baton-replica-'));
      server = await startPostgres({ dataDir: join(dir, 'data'), settings: { wal_level: 'replica', fsync: 'off' } });
    });

    afterAll(async () => {
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    });

    it('is refused in one sentence that says what to do', async () => {
      await expect(checkExternalDatabase(server.url)).rejects.toThrow(
        'has wal_level=replica, and the relay needs logical: run "ALTER SYSTEM SET wal_level = logical"',
      );
    });
  });
});
