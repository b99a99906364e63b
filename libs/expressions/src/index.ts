export { compileTemplate, templateCompiler } from './compile.js';
