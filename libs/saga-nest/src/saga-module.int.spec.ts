import { Inject, Injectable, Module, Scope } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { defineSaga, SagaClient, SagaRuntime, type CompensateContext, type StepContext } from '@baton/saga';
import { createDatabase, eventually, type TestDatabase } from '@baton/testkit';
import { Compensate, Saga, SagaHealthIndicator, SagaModule, Step, WaitFor, type SagaModuleOptions } from './index.js';

interface Order {
  readonly sku: string;
  readonly isDeclined?: boolean;
}

@Injectable()
class Warehouse {
  readonly calls: string[] = [];
}

@Saga({ id: 'order', retry: { maxAttempts: 3, baseInterval: 10 } })
class OrderSaga {
  constructor(@Inject(Warehouse) private readonly warehouse: Warehouse) {}

  @Step()
  reserve({ input }: StepContext<Order>): { readonly reservation: string } {
    this.warehouse.calls.push(`reserve ${input.sku}`);
    return { reservation: `r-${input.sku}` };
  }

  @Compensate('reserve')
  release({ output }: CompensateContext<Order, Record<string, unknown>, { readonly reservation: string }>): void {
    this.warehouse.calls.push(`release ${String(output?.reservation)}`);
  }

  @WaitFor('approved')
  readonly approval: unknown;

  @Step({ name: 'charge' })
  chargeCard({ input, previous }: StepContext<Order>): string {
    this.warehouse.calls.push(`charge after ${JSON.stringify(previous)}`);
    if (input.isDeclined === true) throw Object.assign(new Error('declined'), { code: 'DECLINED' });
    return 'paid';
  }
}

const ignore = () => undefined;
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };

const refund = defineSaga({ id: 'refund', steps: [{ name: 'pay-back', run: () => 'done' }] });

/** As a real application has it: a service in another module that starts sagas. */
@Injectable()
class OrdersService {
  constructor(@Inject(SagaClient) readonly sagas: SagaClient) {}
}

@Module({ providers: [OrdersService], exports: [OrdersService] })
class OrdersModule {}

describe('sagas in a Nest application', () => {
  let database: TestDatabase;
  let app: TestingModule;

  beforeEach(async () => {
    database = await createDatabase({ library: true });
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  async function start(options: Partial<SagaModuleOptions> = {}): Promise<TestingModule> {
    app = await Test.createTestingModule({
      imports: [
        OrdersModule,
        SagaModule.forRoot({ database: { url: database.url }, sagas: [refund], logger: silent, ...options }),
      ],
      providers: [OrderSaga, Warehouse],
    }).compile();
    await app.init();
    return app;
  }

  it('run from providers, with what they inject, from start to end', async () => {
    await start();
    const { sagas } = app.get(OrdersService);
    const { runId } = await sagas.start('order', { sku: 'x1' });
    await sagas.signal(runId, 'approved', { by: 'me' });
    expect(await sagas.result(runId, { timeoutMs: 20_000 })).toMatchObject({ status: 'succeeded', output: 'paid' });
    expect(app.get(Warehouse).calls).toEqual(['reserve x1', 'charge after {"by":"me"}']);
  });

  it('are undone on the provider when a step fails', async () => {
    await start();
    const { sagas } = app.get(OrdersService);
    const { runId } = await sagas.start('order', { sku: 'x2', isDeclined: true });
    await sagas.signal(runId, 'approved', null);
    expect(await sagas.result(runId, { timeoutMs: 20_000 })).toMatchObject({ status: 'compensated' });
    expect(app.get(Warehouse).calls).toEqual([
      'reserve x2',
      ...['charge after null', 'charge after null', 'charge after null'],
      'release r-x2',
    ]);
  });

  it('stand beside sagas made with defineSaga', async () => {
    await start();
    const { runId } = await app.get(SagaClient).start(refund, null);
    expect(await app.get(SagaClient).result(runId, { timeoutMs: 20_000 })).toMatchObject({ status: 'succeeded' });
  });

  it('start with the application, are healthy while they run, and drain before it shuts down', async () => {
    await start();
    const runtime = app.get(SagaRuntime);
    const health = app.get(SagaHealthIndicator);
    expect(runtime.isRunning).toBe(true);
    expect(await health.check()).toEqual({ status: 'up' });
    expect(await health.isHealthy('orders')).toEqual({ orders: { status: 'up' } });
    await app.close();
    expect(runtime.isRunning).toBe(false);
    expect(await health.check()).toEqual({ status: 'down', reason: 'SAGA_NOT_RUNNING' });
  });

  it('start when the application says so', async () => {
    await start({ autoStart: false });
    const runtime = app.get(SagaRuntime);
    expect(runtime.isRunning).toBe(false);
    await runtime.start();
    await eventually(() => runtime.isRunning);
  });

  it('a step that does not end keeps nothing from shutting down', async () => {
    let hasBegun = false;
    const wedged = defineSaga({
      id: 'wedged',
      steps: [{ name: 'forever', run: () => new Promise((_, never) => void (hasBegun = never !== undefined)) }],
    });
    await start({ sagas: [wedged], stopDeadlineMs: 10 });
    await app.get(SagaClient).start(wedged, null);
    await eventually(() => hasBegun);
    await app.close();
    expect(app.get(SagaRuntime).isRunning).toBe(false);
    await app.get(SagaRuntime).close();
  });

  it('are configured by a factory', async () => {
    const CONFIG = Symbol('config');
    @Module({ providers: [{ provide: CONFIG, useFactory: () => database.url }], exports: [CONFIG] })
    class ConfigModule {}
    app = await Test.createTestingModule({
      imports: [
        SagaModule.forRootAsync({
          imports: [ConfigModule],
          inject: [CONFIG],
          useFactory: (url: string) => ({ database: { url }, sagas: [refund], concurrency: 3 }),
        }),
      ],
    }).compile();
    await app.init();
    expect(app.get(SagaRuntime).isRunning).toBe(true);
  });

  it('a saga that depends on a request is refused before anything starts', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class CurrentUser {}
    @Saga({ id: 'per-request' })
    class PerRequest {
      constructor(@Inject(CurrentUser) readonly user: CurrentUser) {}

      @Step()
      a(): null {
        return null;
      }
    }
    const compiled = Test.createTestingModule({
      imports: [SagaModule.forRoot({ database: { url: database.url } })],
      providers: [PerRequest, CurrentUser],
    }).compile();
    await expect(compiled).rejects.toThrow('PerRequest is a saga and must be a singleton');
    await start();
  });
});
