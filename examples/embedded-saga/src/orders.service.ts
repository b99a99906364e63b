import { SagaClient, type SagaStatus } from '@baton/saga';
import { Injectable } from '@nestjs/common';
import { v7 as newRunId } from 'uuid';
import type { Order } from './order.js';
import { Shop, type Effect } from './shop.js';

export interface OrderView {
  readonly orderId: string;
  readonly runId: string;
  readonly status: SagaStatus;
  /** Why it was not delivered. */
  readonly failure: { readonly code: string; readonly message: string } | null;
  readonly effects: readonly Effect[];
}

@Injectable()
export class OrdersService {
  constructor(
    private readonly shop: Shop,
    private readonly sagas: SagaClient,
  ) {}

  /** The order and its saga are one transaction: there is never the one without the other. */
  async place(order: Order): Promise<OrderView> {
    const runId = newRunId();
    await this.shop.transaction(async (query) => {
      if (!(await this.shop.place(query, order, runId))) return;
      await this.sagas.start('order', order, { runId, businessKey: order.orderId, tx: { query } });
    });
    // After the commit: the runtime of this process looks at once, others do at their next look.
    this.sagas.kick();
    const view = await this.get(order.orderId);
    if (view === undefined) throw new Error(`order ${order.orderId} was placed and is not there`);
    return view;
  }

  async get(orderId: string): Promise<OrderView | undefined> {
    const runId = await this.shop.runOf(orderId);
    if (runId === undefined) return undefined;
    // In this order: what a saga that has ended did is there.
    const { status, failure } = await this.sagas.get(runId);
    return { orderId, runId, status, failure, effects: await this.shop.effectsOf(orderId) };
  }
}
