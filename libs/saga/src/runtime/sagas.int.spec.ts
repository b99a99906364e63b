import { describeBadInput } from './testing/bad-input-suite.js';
import { openPostgresWorld } from './testing/postgres-world.js';
import { describeSagas } from './testing/saga-suite.js';

describeSagas('PostgreSQL', openPostgresWorld);
describeBadInput('PostgreSQL', openPostgresWorld);
