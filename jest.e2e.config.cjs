// End to end: whole platforms as separate OS processes. Serial, because each file brings up its own.
module.exports = {
  ...require('./jest.preset.cjs'),
  rootDir: __dirname,
  roots: ['<rootDir>/apps/e2e'],
  testMatch: ['**/*.e2e.ts'],
  testTimeout: 300_000,
  maxWorkers: 1,
};
