const { readdirSync, existsSync } = require('node:fs');
const { join } = require('node:path');

const groups = ['apps', 'libs', 'examples'].flatMap((group) => readdirSync(join(__dirname, group)).map((name) => `${group}/${name}`));

// Unit tests: every *.spec.ts that needs nothing but Node.
module.exports = {
  projects: [...groups, 'migrations', 'bench', 'tools']
    .filter((folder) => existsSync(join(__dirname, folder, 'jest.config.cjs')))
    .map((folder) => `<rootDir>/${folder}`),
  testPathIgnorePatterns: ['\\.int\\.spec\\.ts$', '/dist/', '/node_modules/'],
};
