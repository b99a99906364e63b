import { SagaModule } from '@baton/saga-nest';
import { Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { Ledger } from './ledger.js';
import { OrderSaga } from './order.saga.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { SETTINGS, type Settings } from './settings.js';
import { Shop } from './shop.js';

@Module({})
export class AppModule implements OnApplicationShutdown {
  constructor(
    private readonly shop: Shop,
    private readonly ledger: Ledger,
  ) {}

  static for(settings: Settings, databaseUrl: string): DynamicModule {
    const { concurrency, leaseMs } = settings;
    return {
      module: AppModule,
      imports: [
        SagaModule.forRoot({
          // Makes or updates Baton's tables beside the service's own.
          database: { url: databaseUrl, migrate: true },
          concurrency,
          config: {
            pollIntervalMs: 200,
            claimBatchSize: 16,
            leaseDurationMs: leaseMs,
            heartbeatIntervalMs: Math.ceil(leaseMs / 4),
          },
          stopDeadlineMs: 10_000,
        }),
      ],
      controllers: [OrdersController, HealthController],
      providers: [
        { provide: SETTINGS, useValue: settings },
        { provide: Shop, useFactory: () => prepared(new Shop(databaseUrl)) },
        { provide: Ledger, useFactory: () => prepared(new Ledger(settings.ledgerUrl)) },
        OrderSaga,
        OrdersService,
      ],
    };
  }

  /** After the sagas have drained. */
  async onApplicationShutdown(): Promise<void> {
    await this.shop.close();
    await this.ledger.close();
  }
}

async function prepared<T extends { prepare(): Promise<void> }>(part: T): Promise<T> {
  await part.prepare();
  return part;
}
