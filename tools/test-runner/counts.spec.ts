import { countCheck, countJest, sum, type JestResults } from './counts.ts';
import { selectSuites, suites } from './suites.ts';

const results = (changes: Partial<JestResults>): JestResults => ({
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  numRuntimeErrorTestSuites: 0,
  ...changes,
});

describe('counting a check', () => {
  it('counts it as one test', () => {
    expect(countCheck('format', { code: 0 })).toMatchObject({ passed: 1, failed: 0 });
    expect(countCheck('format', { code: 2 })).toMatchObject({ passed: 0, failed: 1 });
  });

  it('counts one that was stopped as failed, whatever its exit code', () => {
    expect(countCheck('lint', { code: 0, stopped: 'took too long' })).toMatchObject({ passed: 0, failed: 1 });
    expect(countCheck('lint', { code: null })).toMatchObject({ passed: 0, failed: 1 });
  });
});

describe('counting a Jest run', () => {
  it('counts what Jest counted', () => {
    expect(countJest('unit', { code: 0 }, results({ numPendingTests: 1, numTodoTests: 1 }))).toEqual({
      passed: 3,
      failed: 0,
      skipped: 2,
      problems: [],
    });
    expect(countJest('unit', { code: 1 }, results({ numFailedTests: 2 }))).toMatchObject({ passed: 3, failed: 2 });
  });

  it('counts a run that crashed before it wrote results as failed', () => {
    expect(countJest('unit', { code: 134 }, undefined)).toMatchObject({
      failed: 1,
      problems: ['unit: no results: it crashed with exit code 134'],
    });
    expect(countJest('unit', { code: 0 }, undefined)).toMatchObject({ passed: 0, failed: 1 });
  });

  it('counts each test file that could not run', () => {
    expect(countJest('unit', { code: 1 }, results({ numRuntimeErrorTestSuites: 2 }))).toMatchObject({
      passed: 3,
      failed: 2,
      problems: ['unit: 2 test files could not run'],
    });
  });

  it('fails on an exit code that no failed test explains', () => {
    expect(countJest('unit', { code: 1 }, results({}))).toMatchObject({ passed: 3, failed: 1 });
    expect(countJest('unit', { code: null }, results({}))).toMatchObject({ passed: 3, failed: 1 });
  });

  it('fails when no test ran', () => {
    expect(countJest('unit', { code: 0 }, results({ numPassedTests: 0 }))).toMatchObject({
      failed: 1,
      problems: ['unit: no test ran'],
    });
    expect(countJest('unit', { code: 0 }, results({ numPassedTests: 0, numPendingTests: 4 }))).toMatchObject({
      failed: 1,
    });
  });

  it('fails when it had to be stopped after its tests', () => {
    expect(countJest('unit', { code: null, stopped: 'left open' }, results({}))).toMatchObject({
      passed: 3,
      failed: 1,
    });
  });
});

describe('the sum of the suites', () => {
  it('adds up', () => {
    const one = countCheck('a', { code: 0 });
    const two = countJest('b', { code: 1 }, results({ numFailedTests: 1 }));
    expect(sum([one, two])).toMatchObject({ passed: 4, failed: 1 });
    expect(sum([])).toMatchObject({ passed: 0, failed: 0 });
  });
});

describe('choosing suites', () => {
  it('takes all but the long ones when none is named', () => {
    const left = suites.filter((suite) => !selectSuites([]).selected.includes(suite));
    expect(left.map((suite) => suite.name)).toEqual(['mutants', 'soak']);
  });

  it('takes the named ones in the order of the table', () => {
    const { selected, unknown } = selectSuites(['e2e', 'format', 'cellar']);
    expect(selected.map((suite) => suite.name)).toEqual(['format', 'e2e']);
    expect(unknown).toEqual(['cellar']);
  });

  it('knows verify as what needs no servers', () => {
    const names = selectSuites(['verify']).selected.map((suite) => suite.name);
    expect(names).toEqual(['format', 'lint', 'typecheck', 'generated', 'unit']);
  });
});
