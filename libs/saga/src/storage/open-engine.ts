import { createHash } from 'node:crypto';
import { createEngine, type EngineApi, type EngineHooks, type EventNames } from '@baton/engine';
import { templateCompiler } from '@baton/expressions';
import { systemNewId, systemRandom, systemWallClock } from '../executor/system-clock.js';
import { inputSchemas } from './input-schemas.js';
import type { SagaStore } from './saga-store.js';

export interface SagaEngineOptions {
  /** How events are named; default: by saga, see `sagaEventNames`. */
  readonly events: EventNames;
  readonly hooks?: EngineHooks;
  /** One per two cores of the process. Default 1. */
  readonly lanes?: number;
  /** Fresh UUIDv7. */
  readonly newId?: () => string;
  /** In [0, 1). */
  readonly random?: () => number;
  /** Wall clock in ms; nothing is decided by it (R27). */
  readonly wallClock?: () => number;
  /** How often to look for results that another process committed. Milliseconds; default 500. */
  readonly resultPollMs?: number;
}

/**
 * The engine as the embedded runtime has it: tasks are claimed, not sent (R29), and no transaction stays open over a turn
 * of the event loop, which user code may block (R30). It does not own the store.
 */
export function openSagaEngine(store: Pick<SagaStore, 'runs'>, options: SagaEngineOptions): EngineApi {
  const { hooks, lanes, resultPollMs } = options;
  return createEngine({
    store: store.runs,
    templates: templateCompiler,
    schemas: inputSchemas(),
    newId: options.newId ?? systemNewId,
    hash: (text) => createHash('sha256').update(text, 'utf8').digest('hex'),
    random: options.random ?? systemRandom,
    now: options.wallClock ?? systemWallClock,
    route: 'local',
    transactions: 'single-statement',
    events: options.events,
    ...(hooks !== undefined && { hooks }),
    ...(lanes !== undefined && { lanes }),
    ...(resultPollMs !== undefined && { resultPollMs }),
  });
}
