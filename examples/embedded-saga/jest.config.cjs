module.exports = { ...require('../../jest.preset.cjs'), rootDir: __dirname, displayName: 'embedded-saga' };
