import { TaskError, NonRetryableError, type CompensateContext, type StepContext } from '@baton/saga';
import { Compensate, Saga, Step } from '@baton/saga-nest';
import { Inject } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { Ledger } from './ledger.js';
import type { Order } from './order.js';
import { SETTINGS, type Settings } from './settings.js';
import { Shop } from './shop.js';

/** What the steps return, by name. */
interface Outputs {
  readonly [step: string]: unknown;
  reserve: { readonly reservation: string; readonly total: number };
  charge: { readonly paymentId: string };
  ship: { readonly tracking: string };
}

type Doing = StepContext<Order, Outputs>;
type Undoing = CompensateContext<Order, Outputs>;

/** A step runs at least once: each hands its key to what it calls, which knows it again. */
@Saga({
  id: 'order',
  version: 1,
  timeout: 'PT1H',
  retry: { maxAttempts: 10, baseInterval: 200, maxInterval: 5_000 },
})
export class OrderSaga {
  constructor(
    private readonly shop: Shop,
    private readonly ledger: Ledger,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Step()
  reserve(context: Doing) {
    return this.doing(context, async ({ orderId, items }) => {
      const missing = items.find(({ sku }) => sku === 'out-of-stock');
      if (missing) throw new NonRetryableError('OUT_OF_STOCK', `${missing.quantity} × ${missing.sku} for ${orderId}`);
      await this.shop.effect(orderId, 'reserved', context.idempotencyKey);
      const cents = items.reduce((sum, { price, quantity }) => sum + Math.round(price * 100) * quantity, 0);
      return { reservation: `R-${orderId}`, total: cents / 100 };
    });
  }

  @Compensate('reserve')
  release(context: Undoing) {
    return this.doing(context, ({ orderId }) => this.shop.undo(orderId, 'reserved', context.idempotencyKey));
  }

  @Step()
  charge(context: Doing) {
    return this.doing(context, async ({ orderId, payment }) => {
      if (payment === 'decline') throw new NonRetryableError('PAYMENT_DECLINED', `the bank declined order ${orderId}`);
      await this.shop.effect(orderId, 'charged', context.idempotencyKey);
      return { paymentId: `P-${orderId}` };
    });
  }

  @Compensate('charge')
  refund(context: Undoing) {
    return this.doing(context, ({ orderId }) => this.shop.undo(orderId, 'charged', context.idempotencyKey));
  }

  @Step()
  ship(context: Doing) {
    return this.doing(context, async ({ orderId, shipping }) => {
      if (shipping === 'refuse') throw new NonRetryableError('SHIPPING_REFUSED', `nobody ships order ${orderId}`);
      if (shipping === 'fail-twice' && context.attempt <= 2) {
        throw new TaskError('CARRIER_SILENT', `the carrier does not answer (attempt ${context.attempt})`);
      }
      await this.shop.effect(orderId, 'shipped', context.idempotencyKey);
      return { tracking: `T-${orderId}` };
    });
  }

  @Compensate('ship')
  recall(context: Undoing) {
    return this.doing(context, ({ orderId }) => this.shop.undo(orderId, 'shipped', context.idempotencyKey));
  }

  /** The ledger is there for tests; a saga of your own has no need of it. */
  private doing<T>(context: Doing | Undoing, work: (order: Order) => Promise<T>): Promise<T> {
    return this.ledger.record(context, async () => {
      const { stepMs } = this.settings;
      if (stepMs > 0) await delay(stepMs, undefined, { signal: context.signal });
      return work(context.input);
    });
  }
}
