export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** Why something that is not a test counts as failed. */
  problems: string[];
}

export const nothing: Counts = { passed: 0, failed: 0, skipped: 0, problems: [] };

/** How a child process ended. `code` is null when a signal or the runner stopped it. */
export interface Ended {
  code: number | null;
  /** Set when the runner had to stop it. */
  stopped?: string;
}

export interface JestResults {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  numRuntimeErrorTestSuites: number;
}

export function sum(all: Counts[]): Counts {
  return all.reduce(
    (total, counts) => ({
      passed: total.passed + counts.passed,
      failed: total.failed + counts.failed,
      skipped: total.skipped + counts.skipped,
      problems: [...total.problems, ...counts.problems],
    }),
    nothing,
  );
}

export function countCheck(name: string, ended: Ended): Counts {
  if (ended.code === 0 && ended.stopped === undefined) return { ...nothing, passed: 1 };
  return failure(`${name}: ${ended.stopped ?? `ended with ${describeCode(ended.code)}`}`);
}

/**
 * A Jest run never counts as clean unless it says so itself: no results file (it crashed), a test file that could
 * not run, an exit code that no failed test explains, and a run without tests each count as a failure.
 */
export function countJest(name: string, ended: Ended, results: JestResults | undefined): Counts {
  if (results === undefined) {
    return failure(`${name}: no results: ${ended.stopped ?? `it crashed with ${describeCode(ended.code)}`}`);
  }
  const failedFiles = results.numRuntimeErrorTestSuites;
  const counts: Counts = {
    passed: results.numPassedTests,
    failed: results.numFailedTests + failedFiles,
    skipped: results.numPendingTests + results.numTodoTests,
    problems: failedFiles > 0 ? [`${name}: ${failedFiles} test files could not run`] : [],
  };
  return sum([counts, unexplained(name, ended, counts)]);
}

function unexplained(name: string, ended: Ended, counts: Counts): Counts {
  if (ended.stopped !== undefined) return failure(`${name}: ${ended.stopped}`);
  if (counts.failed > 0) return nothing;
  if (ended.code !== 0) return failure(`${name}: no test failed, but it ended with ${describeCode(ended.code)}`);
  if (counts.passed === 0) return failure(`${name}: no test ran`);
  return nothing;
}

export function failure(problem: string): Counts {
  return { passed: 0, failed: 1, skipped: 0, problems: [problem] };
}

function describeCode(code: number | null): string {
  return code === null ? 'a signal' : `exit code ${code}`;
}
