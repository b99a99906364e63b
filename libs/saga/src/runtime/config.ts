import { throwIfUnfit, unfitNumbers, unfitRatio, type LeaseTimes } from '../executor/lease-times.js';

/** Replaced as a whole: no field is merged. Start from `defaultSagaConfig`. Milliseconds. */
export interface SagaConfig extends LeaseTimes {
  /** How often to look for claimable steps that nobody announced. */
  readonly pollIntervalMs: number;
  /** Steps of one claim at most. How many run at once is `concurrency`, a knob of its own (W20). */
  readonly claimBatchSize: number;
}

export const defaultSagaConfig: SagaConfig = {
  pollIntervalMs: 200,
  claimBatchSize: 16,
  leaseDurationMs: 30_000,
  heartbeatIntervalMs: 10_000,
};

/** Every fault of the configuration, named; at once. */
export function checkSagaConfig(config: SagaConfig): void {
  const unfit = unfitNumbers(config, Object.keys(defaultSagaConfig) as (keyof SagaConfig)[]);
  throwIfUnfit(unfit.length > 0 ? unfit : unfitRatio(config));
}
