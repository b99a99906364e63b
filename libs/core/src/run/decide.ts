import type { Dag } from '../definition/spec.js';
import type { DecideEnv, Decision } from './decide-types.js';
import type { RunEvent } from './events.js';
import type { RunState } from './state.js';

/**
 * The state machine (02 §2): what one event does to one run. Pure (I3): the same definition, state, event and env
 * give the same decision. It never awaits: facts that it lacks are asked for with `needs`, and the caller calls
 * again with them added to `env.loaded`.
 *
 * `dag` is the definition version the run is pinned to; for RunRetried it is the version to move to.
 */
export function decide(_dag: Dag, _state: RunState, event: RunEvent, _env: DecideEnv): Decision {
  throw new Error(`not decided: ${event.type}`);
}
