import { checkSchemaVersion, migrate, migrationStatus } from '@baton/migrations';
import { createDatabase, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import { liveOn, type Life } from './testing/life.js';

const MAJORS = [14, 15, 16, 17, 18] as const;

/** How a role of a service may have come to its schema. None may do anything else in its database. */
const ROLES: readonly (readonly [string, (role: string, database: string) => string])[] = [
  ['may make schemas in its database', (role, database) => `GRANT CREATE ON DATABASE ${database} TO ${role}`],
  ['owns a schema that was made for it', (role) => `CREATE SCHEMA baton AUTHORIZATION ${role}`],
  [
    'may use a schema that somebody else owns',
    (role) => `CREATE SCHEMA baton; GRANT USAGE, CREATE ON SCHEMA baton TO ${role}`,
  ],
];

/** The same on every release: compared with the first that was seen. */
let expected: Life | undefined;

/** On servers without logical decoding. The whole store, and more, on 15 and 18: contract.int.spec.ts; on all: majors.soak.ts. */
describe.each(MAJORS)('the embedded runtime on PostgreSQL %i', (major) => {
  describe.each(ROLES)('with a role that %s', (_what, grant) => {
    let database: TestDatabase;
    let admin: Client;
    let role: string;
    let url: string;

    beforeAll(async () => {
      database = await createDatabase({ migrated: false, major, logicalDecoding: false });
      admin = new Client({ connectionString: database.url });
      await admin.connect();
      role = `service_${database.name}`;
      await admin.query(
        `CREATE ROLE ${role} LOGIN PASSWORD 'secret' NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION`,
      );
      await admin.query(
        `REVOKE ALL ON SCHEMA public FROM PUBLIC; REVOKE CREATE, TEMPORARY ON DATABASE ${database.name} FROM PUBLIC`,
      );
      await admin.query(grant(role, database.name));
      const own = new URL(database.url);
      own.username = role;
      own.password = 'secret';
      url = own.toString();
    }, 180_000);
    afterAll(async () => {
      await admin.query(`DROP OWNED BY ${role}`);
      await admin.query(`DROP ROLE ${role}`);
      await admin.end();
      await database.drop();
    });

    it('lives a whole life: schema, start, claim, report, retry, signal, timer, undo, events', async () => {
      await migrate({ url, publication: false, library: true });
      const { schema, publication, library } = await migrationStatus(url);
      expect([schema.pending, publication.applied, library.pending]).toEqual([[], [], []]);
      expect(await checkSchemaVersion(admin, { library: true })).toMatchObject({ state: 'ok' });
      const life = await liveOn(url);
      expect(life).toEqual((expected ??= life));
      expect(life).toMatchObject({
        claims: [
          'reserve forward 1 0',
          'reserve forward 2 1',
          'ship forward 1 0',
          'reserve forward 1 0',
          'reserve compensate 1 0',
        ],
        statuses: ['SUCCEEDED', 'COMPENSATED'],
        eventsInOrder: true,
      });
      expect(life.events).toBeGreaterThan(3);
    }, 60_000);
  });
});
