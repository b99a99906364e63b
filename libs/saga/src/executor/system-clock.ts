import { systemClock } from '@baton/execution';
import { v7 } from 'uuid';

/**
 * The only place of this library with real time and real chance; everything else is given them. A test over the sources
 * proves it.
 */
export { systemClock };

/** In [0, 1). */
export const systemRandom = (): number => Math.random();

/** Wall clock in ms since 1970: for ids and for what people read. Nothing is decided by it (R27). */
export const systemWallClock = (): number => Date.now();

/** A fresh UUIDv7. */
export const systemNewId = (): string => v7();

/** For calls over a network, which take real time whatever a clock says. */
export const systemDeadline = (ms: number): AbortSignal => AbortSignal.timeout(ms);
