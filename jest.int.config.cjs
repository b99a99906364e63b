// Integration tests: every *.int.spec.ts of the workspace, in one Jest run, so that the servers
// (started by the global setup) are started once. One file: jest --config jest.int.config.cjs PATH
module.exports = {
  ...require('./jest.preset.cjs'),
  rootDir: __dirname,
  roots: ['apps', 'libs', 'migrations', 'bench', 'examples'].map((folder) => `<rootDir>/${folder}`),
  testMatch: ['**/*.int.spec.ts'],
  globalSetup: '<rootDir>/libs/testkit/src/jest/global-setup.ts',
  globalTeardown: '<rootDir>/libs/testkit/src/jest/global-teardown.ts',
  testTimeout: 60_000,
  maxWorkers: 2,
};
