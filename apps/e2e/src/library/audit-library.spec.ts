import { indexRecords } from '../audit/index-records.js';
import type { RunRecord, TaskRecord } from '../audit/records.js';
import { judgeOrders, type EffectRecord } from './audit-library.js';
import type { PlacedOrder } from './order-load.js';

const RUN: RunRecord = { runId: 'r1', status: 'SUCCEEDED', outboxSeq: 5, stuckReason: null, timers: 0 };
const ORDER: PlacedOrder = { orderId: 'C-1', runId: 'r1', kind: 'accepted', expected: 'SUCCEEDED' };
const LOST: TaskRecord = {
  taskId: 't',
  runId: 'r1',
  node: 'reserve',
  kind: 'forward',
  status: 'FAILED',
  attempt: 2,
  unknownOutcome: true,
};
const STANDING: readonly EffectRecord[] = ['reserved', 'charged', 'shipped'].map((what) => ({
  orderId: 'C-1',
  what,
  undone: false,
}));

interface Case {
  readonly runs?: readonly RunRecord[];
  readonly orders?: readonly PlacedOrder[];
  readonly effects?: readonly EffectRecord[];
  readonly tasks?: readonly TaskRecord[];
}

function judge({ runs = [RUN], orders = [ORDER], effects = STANDING, tasks = [] }: Case): readonly string[] {
  const nothing = { outcomes: [], journal: [], outbox: [], deadOutboxRows: 0, ledger: [], messages: [] };
  return judgeOrders(indexRecords({ ...nothing, runs, tasks }), orders, effects);
}

describe('the judge of orders of embedded sagas', () => {
  it('is content with an order that was delivered, and with one of which nothing is left', () => {
    expect(judge({})).toEqual([]);
    const undone = STANDING.map((effect) => ({ ...effect, undone: true }));
    const orders = [{ ...ORDER, expected: 'COMPENSATED' }];
    expect(judge({ runs: [{ ...RUN, status: 'COMPENSATED' }], orders, effects: undone })).toEqual([]);
  });

  it('R17: expects an undo where a failed step had lost an attempt', () => {
    const orders = [{ ...ORDER, expected: 'FAILED' }];
    expect(judge({ runs: [{ ...RUN, status: 'COMPENSATED' }], orders, effects: [], tasks: [LOST] })).toEqual([]);
    expect(judge({ runs: [{ ...RUN, status: 'FAILED' }], orders, effects: [], tasks: [LOST] })).toHaveLength(1);
  });

  it.each<[string, Case]>([
    ['nothing to judge', { orders: [], runs: [], effects: [] }],
    ['an order without a run', { runs: [{ ...RUN, runId: 'other' }] }],
    ['a run that nobody asked for', { runs: [RUN, { ...RUN, runId: 'other' }] }],
    ['another end', { runs: [{ ...RUN, status: 'COMPENSATED' }], effects: [] }],
    ['a run that is stuck', { runs: [{ ...RUN, stuckReason: 'decide threw' }] }],
    ['a timer that is left', { runs: [{ ...RUN, timers: 1 }] }],
    ['an effect that is missing', { effects: STANDING.slice(1) }],
    ['an effect that was undone', { effects: STANDING.map((effect, at) => ({ ...effect, undone: at === 0 })) }],
    [
      'an effect that stands after the undo',
      { runs: [{ ...RUN, status: 'COMPENSATED' }], orders: [{ ...ORDER, expected: 'COMPENSATED' }] },
    ],
    ['two orders of one run', { orders: [ORDER, { ...ORDER, orderId: 'C-2' }] }],
  ])('finds %s', (_what, found) => {
    expect(judge(found).length).toBeGreaterThan(0);
  });
});
