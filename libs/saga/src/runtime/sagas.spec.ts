import { describeBadInput } from './testing/bad-input-suite.js';
import { openMemoryWorld } from './testing/memory-world.js';
import { describeSagas } from './testing/saga-suite.js';

describeSagas('a store in memory', openMemoryWorld);
describeBadInput('a store in memory', openMemoryWorld);
