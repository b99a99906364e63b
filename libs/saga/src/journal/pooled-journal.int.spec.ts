import { startTransactionPooler, type TransactionPooler } from '@baton/testkit';
import { describeJournal } from '../testing/journal-suite.js';
import { postgresUnderTest } from '../testing/postgres-under-test.js';

describeJournal('PostgreSQL 15 through a pooler in transaction mode', async () => {
  let pooler: TransactionPooler | undefined;
  const under = await postgresUnderTest({ major: 15 }, { pooler: 'transaction' }, async (url) => {
    pooler = await startTransactionPooler({ url, sessions: 4 });
    return pooler.url;
  });
  return {
    ...under,
    async close() {
      await under.store.close();
      await pooler?.close();
      await under.close();
    },
  };
});
