import { layoutOf } from './layout.js';
import { runningPlatform, type LibraryAddresses, type PlatformAddresses } from './state.js';

/** The addresses of the platform that `up` keeps running here: what commands use when nothing else is said. */
export function runningAddresses(): Partial<PlatformAddresses & LibraryAddresses> | undefined {
  return runningPlatform(layoutOf())?.addresses;
}
