// `migrate` in a process of its own, from the sources: what several pods do at once (B118).
const { existsSync, readFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const Module = require('node:module');
const { transformSync } = require('@swc/core');

Module._extensions['.ts'] = (module, filename) => {
  const options = { jsc: { parser: { syntax: 'typescript' }, target: 'es2024', keepClassNames: true } };
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    filename,
    module: { type: 'commonjs' },
    ...options,
  });
  module._compile(code, filename);
};
const resolve = Module._resolveFilename;
Module._resolveFilename = (request, parent, ...rest) => {
  const source =
    request.startsWith('.') && parent ? join(dirname(parent.filename), request.replace(/\.js$/, '.ts')) : '';
  return source.endsWith('.ts') && existsSync(source) ? source : resolve(request, parent, ...rest);
};

const { migrate } = require('../../../../../migrations/src/migrate.ts');
migrate({ url: process.argv[2], publication: true }).then(
  () => process.exit(0),
  () => process.exit(1),
);
