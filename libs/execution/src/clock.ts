import { after } from './timers.js';

/** Time and timers, injected; tests move it. Milliseconds, monotonic: it never jumps when somebody sets the date. */
export interface Clock {
  now(): number;
  /** Runs `fire` once after `ms`; answers how to stop it. */
  after(ms: number, fire: () => void): () => void;
}

/** The process's own. */
export const systemClock: Clock = { now: () => performance.now(), after };
