const { existsSync, readdirSync } = require('node:fs');
const { join } = require('node:path');

const folders = ['apps', 'libs', 'examples'].flatMap((group) =>
  readdirSync(join(__dirname, group)).map((name) => `${group}/${name}`),
);

// Unit tests: every *.spec.ts that needs nothing but Node, each with the settings of its own project.
module.exports = {
  projects: [...folders, 'migrations', 'bench', 'tools']
    .map((folder) => join(__dirname, folder, 'jest.config.cjs'))
    .filter((config) => existsSync(config))
    .map((config) => ({
      ...require(config),
      testMatch: ['**/*.spec.ts'],
      testPathIgnorePatterns: ['\\.int\\.spec\\.ts$', '/dist/', '/node_modules/'],
    })),
};
