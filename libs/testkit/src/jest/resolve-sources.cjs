// Jest compiles what its global setup loads, but does not resolve it as it resolves tests: these two rules are the
// ones of jest.preset.cjs (sources of the workspace, and './x.js' naming the TypeScript file beside it).
const { existsSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');
const { registerHooks } = require('node:module');

registerHooks({
  resolve(specifier, context, next) {
    if (/^\.{1,2}\/.*\.js$/.test(specifier) && context.parentURL?.startsWith('file:')) {
      const source = join(dirname(fileURLToPath(context.parentURL)), specifier.replace(/\.js$/, '.ts'));
      if (existsSync(source)) return { url: pathToFileURL(source).href, format: 'commonjs', shortCircuit: true };
    }
    if (specifier.startsWith('@baton/')) {
      return next(specifier, { ...context, conditions: ['@baton/source', ...(context.conditions ?? [])] });
    }
    return next(specifier, context);
  },
});
