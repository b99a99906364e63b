// Integration tests on real PostgreSQL and Kafka: every *.int.spec.ts of the workspace, in one Jest run, so that
// each server is started once (by the first test that asks). One file: jest --config jest.int.config.cjs PATH
module.exports = {
  ...require('./jest.preset.cjs'),
  rootDir: __dirname,
  displayName: 'integration',
  roots: ['apps', 'libs', 'migrations', 'bench', 'examples'].map((folder) => `<rootDir>/${folder}`),
  testMatch: ['**/*.int.spec.ts'],
  globalSetup: '<rootDir>/libs/testkit/src/jest/global-setup.cjs',
  globalTeardown: '<rootDir>/libs/testkit/src/jest/global-teardown.cjs',
  testTimeout: 60_000,
  maxWorkers: 2,
};
