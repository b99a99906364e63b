import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type DynamicModule, Module } from '@nestjs/common';
import { ActiveRole, createTimerStore, type TimerStore } from '@baton/storage-postgres';
import { DueLoop } from './due-loop.js';
import { FireClient } from './fire-client.js';
import { PartitionLoop } from './partition-loop.js';
import { SchemaCheck } from './schema-check.js';
import type { TimerPlatform } from './service.js';
import { timerMetrics } from './timer-metrics.js';

const ROLE = 'timers';

@Module({})
export class TimerModule {
  static for(platform: TimerPlatform): DynamicModule {
    const { config, logger, lifecycle, readiness } = platform;
    const store = createTimerStore({
      url: config.databaseUrl,
      applicationName: 'baton timer-service',
      onConnectionError: (error) => logger.warn({ err: error }, 'a database connection was lost'),
    });
    const role = new ActiveRole(store, {
      role: ROLE,
      owner: `${hostname()}/${process.pid}/${randomUUID()}`,
      leaseMs: config.leaseMs,
    });
    const fire = new FireClient(config.internalUrl);
    const schema = new SchemaCheck(config.databaseUrl);
    readiness.addCheck('database', () => schema.whyNotReady());
    readiness.addCheck('coordinator', () => fire.whyNotConnected());
    runLoops(platform, { store, role, fire });
    lifecycle.onShutdown('storage', 'database', async () => {
      fire.close();
      await Promise.all([store.close(), schema.close()]);
    });
    return { module: TimerModule };
  }
}

/** The role is given up after the last batch was answered, so that a standby takes over at once and never overlaps. */
function runLoops(
  { config, logger, lifecycle, metrics }: TimerPlatform,
  parts: { readonly store: TimerStore; readonly role: ActiveRole; readonly fire: FireClient },
): void {
  const due = new DueLoop({ ...parts, logger, metrics: timerMetrics(metrics, parts.role), pollMs: config.pollMs });
  const partitions = new PartitionLoop({ store: parts.store, role: parts.role, logger });
  due.start();
  partitions.start();
  lifecycle.onShutdown('intake', 'timers', async () => {
    await Promise.all([due.stop(), partitions.stop()]);
    await parts.role.release();
  });
}
