import { Module, type DynamicModule } from '@nestjs/common';
import { templateCompiler } from '@baton/expressions';
import { createEngine, type EngineApi } from '@baton/engine';
import { createPostgresStore } from '@baton/storage-postgres';
import { createHash, randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { countCalls } from './engine/count-calls.js';
import { engineHooks } from './engine/engine-hooks.js';
import { SchemaValidator } from './engine/schema-validator.js';
import { InternalController } from './internal/internal.controller.js';
import { DatabaseChecks } from './readiness.js';
import { ResultWaits } from './runs/result-waits.js';
import { RunController } from './runs/run.controller.js';
import type { CoordinatorPlatform } from './service.js';
import { ENGINE } from './tokens.js';
import { Sessions } from './worker/sessions.js';
import { WorkerCalls } from './worker/worker-calls.js';
import { WorkerController } from './worker/worker.controller.js';

/** Wiring: the engine over PostgreSQL, and the three gRPC services over the engine. */
@Module({})
export class CoordinatorModule {
  static async for(platform: CoordinatorPlatform): Promise<DynamicModule> {
    const checks = new DatabaseChecks(platform.config.databaseUrl, platform.logger);
    checks.register(platform.readiness);
    await checks.makePartitions();
    const { engine, inFlight } = countCalls(openEngine(platform));
    const calls = new WorkerCalls(engine, randomUUID);
    const sessions = new Sessions(calls, platform.logger);
    const waits = new ResultWaits();
    stopInOrder(platform, { sessions, waits, checks });
    platform.metrics.gauge({ name: 'engine_calls_in_flight', help: 'Calls that wait for a commit', collect: inFlight });
    platform.metrics.gauge({ name: 'worker_sessions', help: 'Open worker streams', collect: () => sessions.count });
    return {
      module: CoordinatorModule,
      controllers: [WorkerController, RunController, InternalController],
      providers: [
        { provide: ENGINE, useValue: engine },
        { provide: WorkerCalls, useValue: calls },
        { provide: Sessions, useValue: sessions },
        { provide: ResultWaits, useValue: waits },
      ],
    };
  }
}

function openEngine(platform: CoordinatorPlatform): EngineApi {
  const { config, logger, metrics, lifecycle } = platform;
  const store = createPostgresStore({
    url: config.databaseUrl,
    applicationName: 'baton coordinator',
    // Each lane has one batch in flight; the rest serves starts, lock-first transactions and queries.
    poolSize: config.lanes + 8,
    onConnectionError: (error) => logger.warn({ err: error }, 'a database connection broke'),
  });
  const engine = createEngine({
    store,
    templates: templateCompiler,
    schemas: new SchemaValidator(),
    newId: uuidv7,
    hash: (text) => createHash('sha256').update(text, 'utf8').digest('hex'),
    random: Math.random,
    now: Date.now,
    lanes: config.lanes,
    hooks: engineHooks(metrics, logger),
  });
  lifecycle.onShutdown('storage', 'engine', async () => {
    await engine.close();
    await store.close();
  });
  return engine;
}

/** Health says NOT_SERVING first (platform); then streams and long polls let go, so that the listeners can close. */
function stopInOrder(
  { lifecycle, config }: CoordinatorPlatform,
  parts: { readonly sessions: Sessions; readonly waits: ResultWaits; readonly checks: DatabaseChecks },
): void {
  lifecycle.onShutdown('intake', 'going away', () => parts.sessions.sayGoingAway());
  lifecycle.onShutdown('intake', 'long polls', () => parts.waits.endAll());
  lifecycle.onShutdown('drain', 'worker sessions', () => parts.sessions.drain(config.shutdownTimeoutMs * 0.2));
  lifecycle.onShutdown('storage', 'checks', () => parts.checks.close());
}
