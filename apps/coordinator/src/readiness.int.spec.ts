import { eventually } from '@baton/testkit';
import { CoordinatorUnderTest } from './testing/coordinator-under-test.js';

/** R26: publication, slot, readiness. */
describe('a coordinator that starts before everything else', () => {
  let under: CoordinatorUnderTest;

  beforeAll(async () => {
    under = await CoordinatorUnderTest.start();
    await under.sql('DROP PUBLICATION baton_outbox');
  });
  afterAll(() => under.stop());

  const makeSlot = (name: string, plugin: string) =>
    under.sql('SELECT pg_create_logical_replication_slot($1, $2)', [name, plugin]);

  /** Also tells that it is the outbox, and nothing else, that is waited for. */
  const whyNot = async (): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${under.service.adminPort}/readyz`);
    return response.status === 200 ? 'ready' : response.text();
  };

  it('R26: is ready only when there is a publication, and then a slot that can read it', async () => {
    const unique = `r26_${Date.now()}`;
    expect(await whyNot()).toContain('The publication baton_outbox does not exist');
    await makeSlot(`${unique}_early`, 'pgoutput');
    expect(await whyNot()).toContain('The publication baton_outbox does not exist');
    await under.sql('SELECT pg_drop_replication_slot($1)', [`${unique}_early`]);
    await under.sql(
      `CREATE PUBLICATION baton_outbox FOR TABLE baton.outbox WITH (publish = 'insert', publish_via_partition_root = true)`,
    );
    await eventually(async () => (await whyNot()).includes('No replication slot exists yet'));
    await makeSlot(`${unique}_other`, 'test_decoding'); // of somebody else
    expect(await whyNot()).toContain('No replication slot exists yet');
    await makeSlot(unique, 'pgoutput');
    await eventually(async () => (await whyNot()) === 'ready', { what: 'readiness' });
    // A slot that is lost later is the relay's to make again: the rows wait in their table.
    await under.sql('SELECT pg_drop_replication_slot($1)', [unique]);
    expect(await whyNot()).toBe('ready');
  });
});
