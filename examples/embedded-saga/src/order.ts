import { randomUUID } from 'node:crypto';
import { z } from 'zod';

/** What a customer asks for. The last two decide which way the saga goes, so that each can be seen on demand. */
const orderRequest = z.strictObject({
  /** Given by the caller, the same order again is the same order. */
  orderId: z.string().min(1).max(100).optional(),
  customer: z.string().min(1).max(200),
  items: z
    .array(
      z.strictObject({
        sku: z.string().min(1).max(100),
        quantity: z.int().positive(),
        price: z.number().nonnegative(),
      }),
    )
    .min(1)
    .max(100),
  payment: z.enum(['card', 'decline']).default('card'),
  shipping: z.enum(['standard', 'fail-twice', 'refuse']).default('standard'),
});

export type Order = z.infer<typeof orderRequest> & { readonly orderId: string };

/** Reads a request, or says everything that is wrong with it. */
export function readOrder(body: unknown): { readonly order: Order } | { readonly problems: readonly string[] } {
  const read = orderRequest.safeParse(body);
  if (read.success) return { order: { ...read.data, orderId: read.data.orderId ?? randomUUID() } };
  return { problems: read.error.issues.map(({ path, message }) => `${path.join('.') || 'the order'}: ${message}`) };
}
