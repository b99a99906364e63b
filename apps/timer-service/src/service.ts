import {
  countSetting,
  databaseUrlSetting,
  grpcTarget,
  internalUrlSetting,
  type Platform,
  type ServiceConfig,
  type ServiceDefinition,
} from '@baton/platform';
import { TimerModule } from './timer.module.js';

export const timerSettings = {
  databaseUrl: databaseUrlSetting,
  internalUrl: internalUrlSetting,
  pollMs: countSetting(
    'BATON_TIMER_POLL_MS',
    { min: 10, max: 60_000, fallback: 250 },
    'longest sleep between two looks at what is due: how late a nearer wake-up can be seen',
  ),
  leaseMs: countSetting(
    'BATON_TIMER_LEASE_MS',
    { min: 500, max: 300_000, fallback: 3_000 },
    'how long a standby waits for an active timer service that went silent',
  ),
};

export type TimerPlatform = Platform<ServiceConfig<typeof timerSettings>>;

/** Finds what is due and hands it to a coordinator. One process is active, others stand by (R22). */
export const timerService: ServiceDefinition<typeof timerSettings> = {
  name: 'timer-service',
  adminPort: 9084,
  settings: timerSettings,
  check: ({ internalUrl }) => {
    try {
      grpcTarget(internalUrl);
      return [];
    } catch (error) {
      return [`BATON_INTERNAL_URL: ${(error as Error).message}`];
    }
  },
  module: (platform) => TimerModule.for(platform),
};
