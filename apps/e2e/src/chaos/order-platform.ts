import { Platform, type PlatformOptions } from '@baton/testkit';
import { Rest } from '../rest.js';

export interface OrderPlatformOptions extends Pick<PlatformOptions, 'readyWithinMs'> {
  /** How long each step of an order takes, ms. */
  readonly stepMs: number;
  /** Default: a server of its own, which stays when Baton's ends. */
  readonly ledger?: PlatformOptions['ledger'];
}

/** What the chaos tests have in common: a second one of each service, three workers with a ledger, the example published. */
export async function startOrderPlatform({ stepMs, ledger = 'own-server', ...more }: OrderPlatformOptions): Promise<{
  readonly platform: Platform;
  readonly rest: Rest;
}> {
  const platform = await Platform.start({
    coordinators: 2,
    relays: 2,
    timerServices: 2,
    workers: 3,
    ledger,
    workerEnv: { BATON_STEP_MS: String(stepMs) },
    ...more,
  });
  const rest = new Rest(platform.gatewayUrl);
  try {
    await rest.publishExample();
  } catch (error) {
    await platform.stop().catch(() => undefined);
    throw error;
  }
  return { platform, rest };
}
