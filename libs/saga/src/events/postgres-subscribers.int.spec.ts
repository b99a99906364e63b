import { postgresUnderTest } from '../testing/postgres-under-test.js';
import { describeSubscribers } from '../testing/subscriber-suite.js';

describeSubscribers('PostgreSQL', () => postgresUnderTest());
