require('./resolve-sources.cjs');

module.exports = () => require('./test-run.ts').endTestRun();
