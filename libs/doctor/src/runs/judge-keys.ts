import { isTerminal } from '@baton/core';
import type { RunView } from './run-view.js';
import type { Verdict } from './verdict.js';

/**
 * I11, from the side of the run: the key that it was started with is its own. A key that names a run which knows nothing
 * of it is found on the walk over the keys.
 */
export function judgeKeys({ state, keys }: RunView, verdict: Verdict): void {
  for (const { kind, key, holder, claims } of keys) {
    // R24: a business key is unique among open runs; the next start takes it over.
    const business = kind !== 'idempotency';
    if (business && isTerminal(state.status)) continue;
    const name = business ? `business key ${key}` : `idempotency key ${key}`;
    if (holder === null)
      verdict.add('I11', business ? 'BUSINESS_KEY_MISSING' : 'IDEMPOTENCY_KEY_MISSING', `${name} has no row`);
    else if (holder !== state.runId && claims === true) {
      verdict.add(
        'I11',
        business ? 'BUSINESS_KEY_USED_TWICE' : 'IDEMPOTENCY_KEY_USED_TWICE',
        `${name} is also that of run ${holder}`,
      );
    }
  }
}
