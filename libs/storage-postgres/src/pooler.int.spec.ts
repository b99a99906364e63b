import { startTransactionPooler } from '@baton/testkit';
import { Database } from './pool.js';
import { describePooled } from './testing/pooled-suite.js';
import { storeFixture } from './testing/store-fixture.js';

describePooled('a pooler in transaction mode', (url) => startTransactionPooler({ url, sessions: 4 }));

it('a store that takes such a pooler for a connection of its own breaks, so that these tests can tell', async () => {
  const fixture = await storeFixture();
  const pooler = await startTransactionPooler({ url: fixture.url });
  const direct = new Database({ url: pooler.url, poolSize: 1 });
  const ask = async () => {
    for (let turn = 0; turn < 6; turn += 1) await direct.runRepeatable('deployed-version', { namespace: 'n', id: 'x' });
  };
  await expect(ask()).rejects.toMatchObject({ sqlState: expect.stringMatching(/^(26000|42P05)$/) });
  await direct.close();
  await pooler.close();
  await fixture.close();
});
