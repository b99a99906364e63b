import { SagaError, type SagaErrorDetail } from '../journal/errors.js';

/** How a lease is kept. Milliseconds. */
export interface LeaseTimes {
  /** How long a lease lasts without a heartbeat. */
  readonly leaseDurationMs: number;
  /** Twice this must be less than the lease. */
  readonly heartbeatIntervalMs: number;
}

/** Every field that is not a whole number greater than 0. */
export function unfitNumbers<T extends object>(values: T, fields: readonly (keyof T & string)[]): SagaErrorDetail[] {
  const unfit = fields.filter((field) => {
    const value: unknown = values[field];
    return !(typeof value === 'number' && Number.isSafeInteger(value) && value > 0);
  });
  return unfit.map((field) => {
    const message = `${field} must be a whole number greater than 0`;
    return { pointer: `/${field}`, code: 'OUT_OF_RANGE', message };
  });
}

/** Two heartbeats in a row may fail before the lease is lost. */
export function unfitRatio({ heartbeatIntervalMs, leaseDurationMs }: LeaseTimes): SagaErrorDetail[] {
  if (heartbeatIntervalMs * 2 < leaseDurationMs) return [];
  const message = 'twice heartbeatIntervalMs must be less than leaseDurationMs';
  return [{ pointer: '/heartbeatIntervalMs', code: 'HEARTBEAT_TOO_SLOW', message }];
}

export function throwIfUnfit(details: readonly SagaErrorDetail[]): void {
  if (details.length === 0) return;
  const all = details.map(({ message }) => message).join('; ');
  throw new SagaError('invalid', 'CONFIG_INVALID', `the saga configuration is not valid: ${all}`, { details });
}
