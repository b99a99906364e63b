// What the tests that name a rule say of a mutant of it.

export interface Assertion {
  fullName: string;
  status: string;
}

export interface Outcome {
  assertions: Assertion[];
  /** Test files that could not run at all. */
  brokenFiles: number;
}

export type Verdict = 'caught' | 'survived' | 'broken' | 'unnamed';

/**
 * caught: a test whose name holds the rule failed. broken: test files could not even run, which proves nothing.
 * unnamed: no test names the rule. survived: they all stayed green.
 */
export function judge(rule: string, outcomes: Outcome[]): { verdict: Verdict; by: string[] } {
  const names = new RegExp(`\\b${rule}\\b`);
  const naming = outcomes
    .flatMap((outcome) => outcome.assertions)
    .filter((assertion) => names.test(assertion.fullName));
  const by = naming.filter((assertion) => assertion.status === 'failed').map((assertion) => assertion.fullName);
  if (by.length > 0) return { verdict: 'caught', by };
  if (outcomes.some((outcome) => outcome.brokenFiles > 0)) return { verdict: 'broken', by };
  const ran = naming.some((assertion) => assertion.status === 'passed');
  return { verdict: ran ? 'survived' : 'unnamed', by };
}
