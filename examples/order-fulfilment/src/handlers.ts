import { NonRetryableError, type TaskContext, type TaskHandler } from '@baton/worker';

/**
 * The steps of an order and their undos. Nothing outside is called: what a step "does" follows from its input, so that
 * every way through the saga can be seen on demand (see README.md).
 */
interface Item {
  readonly sku: string;
  readonly quantity: number;
  readonly price: number;
}

interface Undo<Input, Output> {
  readonly input: Input;
  /** null: it is not known whether the step had its effect. */
  readonly output: Output | null;
}

type ReserveInput = { readonly orderId: string; readonly items: readonly Item[] };
type ReserveOutput = { readonly reservation: string; readonly total: number };

function reserve(context: TaskContext): ReserveOutput {
  const { orderId, items } = context.input<ReserveInput>();
  const missing = items.find((item) => item.sku === 'out-of-stock');
  if (missing)
    throw new NonRetryableError('OUT_OF_STOCK', `order ${orderId} wants ${missing.quantity} × ${missing.sku}`);
  const cents = items.reduce((sum, item) => sum + Math.round(item.price * 100) * item.quantity, 0);
  return { reservation: `R-${orderId}`, total: cents / 100 };
}

function release(context: TaskContext) {
  const { input } = context.input<Undo<ReserveInput, ReserveOutput>>();
  return { released: `R-${input.orderId}` };
}

type ChargeInput = { readonly orderId: string; readonly payment: string; readonly amount: number };

function charge(context: TaskContext) {
  const { orderId, payment, amount } = context.input<ChargeInput>();
  if (payment === 'decline') {
    throw new NonRetryableError('PAYMENT_DECLINED', `the bank declined ${amount} for order ${orderId}`);
  }
  // A real payment provider takes the idempotency key: a second attempt of this step is the same payment to it.
  return { paymentId: `P-${orderId}`, amount, key: context.idempotencyKey };
}

function refund(context: TaskContext) {
  const { input, output } = context.input<Undo<ChargeInput, { readonly paymentId: string }>>();
  return { refunded: output?.paymentId ?? `P-${input.orderId}` };
}

type ShipInput = { readonly orderId: string; readonly shipping: string };

function ship(context: TaskContext) {
  const { orderId, shipping } = context.input<ShipInput>();
  if (shipping === 'fail-twice' && context.attempt <= 2) {
    throw new Error(`the carrier does not answer (attempt ${context.attempt})`);
  }
  if (shipping === 'refuse') throw new NonRetryableError('SHIPPING_REFUSED', `nobody ships order ${orderId}`);
  return { tracking: `T-${orderId}` };
}

function recall(context: TaskContext) {
  const { input } = context.input<Undo<ShipInput, unknown>>();
  return { recalled: `T-${input.orderId}` };
}

function invoice(context: TaskContext) {
  const { orderId } = context.input<{ readonly orderId: string }>();
  return { invoiceId: `I-${orderId}` };
}

function notify(context: TaskContext) {
  const { customer } = context.input<{ readonly customer: string }>();
  if (customer === 'nobody') throw new NonRetryableError('NO_SUCH_CUSTOMER', 'the message cannot be delivered');
  return { sent: true };
}

export const handlers: Readonly<Record<string, TaskHandler>> = {
  'inventory.reserve': reserve,
  'inventory.release': release,
  'payments.charge': charge,
  'payments.refund': refund,
  'payments.invoice': invoice,
  'shipping.ship': ship,
  'shipping.recall': recall,
  'notifications.send': notify,
};

export const queues = ['inventory', 'payments', 'shipping', 'notifications'] as const;
