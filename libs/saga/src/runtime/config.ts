import { SagaError, type SagaErrorDetail } from '../journal/errors.js';

/** Replaced as a whole: no field is merged. Start from `defaultSagaConfig`. Milliseconds. */
export interface SagaConfig {
  /** How often to look for claimable steps that nobody announced. */
  readonly pollIntervalMs: number;
  /** Steps of one claim at most. How many run at once is `concurrency`, a knob of its own (W20). */
  readonly claimBatchSize: number;
  /** How long a lease lasts without a heartbeat. */
  readonly leaseDurationMs: number;
  /** Twice this must be less than the lease. */
  readonly heartbeatIntervalMs: number;
}

export const defaultSagaConfig: SagaConfig = {
  pollIntervalMs: 200,
  claimBatchSize: 16,
  leaseDurationMs: 30_000,
  heartbeatIntervalMs: 10_000,
};

/** Every fault of the configuration, named; at once. */
export function checkSagaConfig(config: SagaConfig): void {
  const details: SagaErrorDetail[] = [];
  for (const field of Object.keys(defaultSagaConfig) as (keyof SagaConfig)[]) {
    const value: unknown = config[field];
    if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) continue;
    const message = `${field} must be a whole number greater than 0`;
    details.push({ pointer: `/${field}`, code: 'OUT_OF_RANGE', message });
  }
  if (details.length === 0 && config.heartbeatIntervalMs * 2 >= config.leaseDurationMs) {
    const message = 'twice heartbeatIntervalMs must be less than leaseDurationMs';
    details.push({ pointer: '/heartbeatIntervalMs', code: 'HEARTBEAT_TOO_SLOW', message });
  }
  if (details.length > 0) {
    const all = details.map(({ message }) => message).join('; ');
    throw new SagaError('invalid', 'CONFIG_INVALID', `the saga configuration is not valid: ${all}`, { details });
  }
}
