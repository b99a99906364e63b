// Long forms of the tests that randomness or faults are in, minutes each: every *.soak.ts. Not part of the default run.
// Each keeps its figures in docs/results.
module.exports = {
  ...require('./jest.int.config.cjs'),
  displayName: 'soak',
  testMatch: ['**/*.soak.ts'],
  testTimeout: 1_800_000,
  maxWorkers: 1,
};
