import { createRequire } from 'node:module';

/** What this override touches of kafkajs 2.2.4 (pinned; the spec file fails when it changes). */
export interface RequestQueueInternals {
  readonly pending: readonly unknown[];
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

interface RequestQueueClass {
  readonly prototype: RequestQueueInternals;
}

const CHECK_INTERVAL_MS = 10;
const load = createRequire(__filename);
let done = false;

/**
 * kafkajs re-arms its check of pending requests with a negative delay when nothing is pending: an idle connection
 * wakes about 900 times a second, and Node 24 prints a TimeoutNegativeWarning. Here a timer exists only
 * while something is pending; every other path to the check (a request sent, an answer received) is kafkajs's own.
 */
export function keepIdleConnectionsQuiet(): void {
  if (done) return;
  done = true;
  const queue = load('kafkajs/src/network/requestQueue') as RequestQueueClass;
  queue.prototype.scheduleCheckPendingRequests = function schedule(this: RequestQueueInternals): void {
    if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
    const throttled = this.throttledUntil - Date.now();
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      throttled > 0 ? throttled : CHECK_INTERVAL_MS,
    );
  };
}
