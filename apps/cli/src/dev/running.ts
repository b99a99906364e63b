import { layoutOf } from './layout.js';
import { runningPlatform, type Addresses } from './state.js';

/** The addresses of the platform that `up` keeps running here: what commands use when nothing else is said. */
export function runningAddresses(): Addresses | undefined {
  return runningPlatform(layoutOf())?.addresses;
}
