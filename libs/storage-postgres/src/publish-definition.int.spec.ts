import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { createLibraryStore, type LibraryStore } from './library-store.js';
import { publishDefinitionOn } from './publish-definition.js';
import { waitingFor } from './testing/locks.js';
import { MAJORS, storeFixture, type StoreFixture } from './testing/store-fixture.js';

const definition = (id: string, version: number, content = 'a') => ({
  namespace: 'default',
  id,
  version,
  spec: `{"content": "${content}"}`,
  contentHash: `hash of ${content}`,
});

describe.each(MAJORS)('publishing definitions on PostgreSQL %i', (major) => {
  let fixture: StoreFixture;
  let library: LibraryStore;

  beforeAll(async () => {
    fixture = await storeFixture(major, { library: true });
    library = createLibraryStore({ url: fixture.url });
  });
  afterAll(async () => {
    await library.close();
    await fixture.close();
  });

  const deployed = async (id: string) => {
    const rows = await fixture.query<{ version: number }>(
      `SELECT version FROM baton.deployed_definitions WHERE namespace = 'default' AND id = $1`,
      [id],
    );
    return rows[0]?.version;
  };

  it('makes a version once; a repeat, also with other content, changes nothing and says what is there', async () => {
    const first = definition('once', 1);
    const { spec, contentHash } = first;
    expect(await library.publishDefinition(first)).toEqual({ created: true, spec, contentHash });
    expect(await library.publishDefinition(first)).toEqual({ created: false, spec, contentHash });
    expect(await library.publishDefinition(definition('once', 1, 'b'))).toEqual({ created: false, spec, contentHash });
  });

  it('W12: deploys what is newer than what is deployed: a process that starts late rolls nothing back', async () => {
    await library.publishDefinition(definition('late', 2));
    await library.publishDefinition(definition('late', 1));
    expect(await deployed('late')).toBe(2);
    await library.publishDefinition(definition('late', 3));
    expect(await deployed('late')).toBe(3);
  });

  it('of two at once one makes it, and both hear the same content', async () => {
    const client = new Client({ connectionString: fixture.url });
    await client.connect();
    try {
      await client.query('BEGIN');
      await publishDefinitionOn(client, definition('race', 1, 'a'), 'no');
      const second = library.publishDefinition(definition('race', 1, 'b'));
      await waitingFor(fixture, 'definition');
      await client.query('COMMIT');
      expect(await second).toMatchObject({ created: false, contentHash: 'hash of a' });
    } finally {
      await client.end();
    }
  });

  it('is part of the transaction of an EntityManager: rolled back, it never was; a hidden version comes back as it was', async () => {
    const source = await new DataSource({ type: 'postgres', url: fixture.url, installExtensions: false }).initialize();
    try {
      const rolledBack = source.transaction(async (manager) => {
        expect(await publishDefinitionOn(manager, definition('hidden', 1), 'always')).toMatchObject({ created: true });
        throw new Error('changed my mind');
      });
      await expect(rolledBack).rejects.toThrow('changed my mind');
      expect(await deployed('hidden')).toBeUndefined();
      await publishDefinitionOn(source.manager, definition('hidden', 1), 'always');
      await fixture.query(`DELETE FROM baton.deployed_definitions WHERE id = 'hidden'`);
      await fixture.query(`UPDATE baton.workflow_definitions SET deleted_at = baton.now() WHERE id = 'hidden'`);
      expect(await publishDefinitionOn(source.manager, definition('hidden', 1, 'b'), 'always')).toMatchObject({
        created: false,
        contentHash: 'hash of a',
      });
      expect(await publishDefinitionOn(source.manager, definition('hidden', 1), 'always')).toMatchObject({
        created: true,
      });
      expect(await deployed('hidden')).toBe(1);
    } finally {
      await source.destroy();
    }
  });
});
