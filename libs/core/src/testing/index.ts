export { anyDag, anyNextDag } from './arbitraries.js';
export { definitionText } from './definition-text.js';
