import { internalV1 } from '@baton/contracts';
import {
  dueFromProto,
  dueToProto,
  firedFromProto,
  firedToProto,
  type DueRecord,
  type FiredRecord,
} from './due-items.js';
import { ApiError } from './errors.js';

const ids = {
  namespace: 'default',
  runId: '01920000-0000-7000-8000-000000000001',
};
const other = '01920000-0000-7000-8000-000000000002';

describe('what is due', () => {
  it.each<[string, DueRecord]>([
    ['a task', { ...ids, kind: 'task', taskId: other, attempt: 3 }],
    ['a timer', { ...ids, kind: 'timer', timerId: other }],
  ])('travels there unchanged: %s', (_what, item) => {
    const bytes = internalV1.DueItem.encode(dueToProto(item)).finish();
    expect(dueFromProto(internalV1.DueItem.decode(bytes), 0)).toEqual(item);
  });

  it.each<[FiredRecord]>([
    [{ outcome: 'APPLIED' }],
    [{ outcome: 'IGNORED', reason: 'early' }],
    [{ outcome: 'FAILED' }],
  ])('is answered with %o', (result) => {
    expect(firedFromProto(firedToProto(result))).toEqual(result);
  });

  it('stays due when the answer is one that we do not know', () => {
    expect(firedFromProto({ outcome: 42 as internalV1.FireOutcome, reason: '' })).toEqual({ outcome: 'FAILED' });
  });

  it('that cannot be read is named by its place', () => {
    const act = () => dueFromProto({ namespace: 'No', runId: 'x', due: undefined }, 7);
    expect(act).toThrow(ApiError);
    try {
      act();
    } catch (error) {
      expect((error as ApiError).details.map((detail) => detail.pointer)).toEqual([
        '/items/7/namespace',
        '/items/7/run_id',
        '/items/7/due',
      ]);
    }
  });
});
