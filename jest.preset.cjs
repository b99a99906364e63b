// Shared by every project. Sources of this workspace are read through the '@baton/source'
// export condition, so unit tests need no build.
module.exports = {
  testEnvironment: 'node',
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2024',
          keepClassNames: true,
        },
        module: { type: 'commonjs' },
        sourceMaps: 'inline',
      },
    ],
  },
  testEnvironmentOptions: { customExportConditions: ['@baton/source', 'node', 'require', 'default'] },
  moduleFileExtensions: ['ts', 'js', 'json', 'node'],
  // TypeScript sources import each other as './x.js' (nodenext); Jest finds the .ts beside it.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
};
