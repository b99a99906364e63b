import { demoRuns } from './rest.js';

/** A way that an order can go, with what the example's definition makes of it. */
export interface OrderKind {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** How the run ends; of a cancelled order: how it ends when the cancel comes too late. */
  readonly expected: string;
  /** The order is cancelled as soon as this step has been scheduled. */
  readonly cancelAt?: string;
}

/** The example's demo runs, and the other ways through its saga: no undo, two, three; a cancel at each stage. */
export function orderKinds(): readonly OrderKind[] {
  const [accepted] = demoRuns();
  if (accepted === undefined) throw new Error('the example has no demo runs');
  const { input, expected } = accepted;
  return [
    ...demoRuns(),
    { name: 'cancelled while it is shipped', input, expected, cancelAt: 'ship' },
    {
      name: 'nothing in stock',
      input: { ...input, items: [{ sku: 'out-of-stock', quantity: 1, price: 1 }] },
      expected: 'FAILED',
    },
    { name: 'nobody ships it', input: { ...input, shipping: 'refuse' }, expected: 'COMPENSATED' },
    { name: 'cancelled while it is paid', input, expected, cancelAt: 'charge' },
    { name: 'customer unknown', input: { ...input, customer: 'nobody' }, expected: 'COMPENSATED' },
    { name: 'cancelled at once', input, expected, cancelAt: 'reserve' },
  ];
}
