import { describeJournal } from '../testing/journal-suite.js';
import { postgresUnderTest } from '../testing/postgres-under-test.js';

describeJournal('PostgreSQL', () => postgresUnderTest());
