import { endForward } from './end-forward.js';
import type { RunCancelled } from './events.js';
import { storable } from '../json/storable.js';
import type { Failure } from './state.js';
import { APPLIED, refused, type Outcome, type Transition } from './transition.js';

const MAX_REASON_LENGTH = 1_000;

/** Ends the run on request; what was done is undone first (R19). */
export function onRunCancelled(t: Transition, event: RunCancelled): Outcome {
  const { status, cause } = t.state;
  switch (status) {
    case 'RUNNING': {
      const failure: Failure = { code: 'CANCELLED', message: storable(event.reason, MAX_REASON_LENGTH) };
      t.journal('run.cancel_requested', { detail: failure.message });
      endForward(t, { cause: 'cancel', failure, undo: true });
      return APPLIED;
    }
    case 'COMPENSATING':
      return cause === 'cancel'
        ? { kind: 'ignored', reason: 'the run is being cancelled already', duplicate: true }
        : refused('ALREADY_COMPENSATING', `the run is being undone already, because of a ${cause ?? 'failure'}`);
    case 'CANCELLED':
      return { kind: 'ignored', reason: 'the run was cancelled already', duplicate: true };
    default:
      return refused('RUN_TERMINAL', `the run has ended: ${status}`);
  }
}
