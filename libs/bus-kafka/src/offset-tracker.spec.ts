import fc from 'fast-check';
import { OffsetTracker } from './offset-tracker.js';

describe('The offset that may be committed', () => {
  it('is the end of the contiguous prefix of what is done (R10)', () => {
    const tracker = new OffsetTracker();
    for (const offset of [5n, 6n, 7n]) tracker.deliver(offset);
    expect(tracker.toCommit()).toBeNull();
    tracker.done(6n);
    tracker.done(7n);
    expect(tracker.toCommit()).toBeNull();
    tracker.done(5n);
    expect(tracker.toCommit()).toBe(8n);
    tracker.wasCommitted(8n);
    expect(tracker.toCommit()).toBeNull();
  });

  it('passes gaps that compaction or control records leave', () => {
    const tracker = new OffsetTracker();
    tracker.deliver(1n);
    tracker.deliver(9n);
    tracker.done(1n);
    expect(tracker.toCommit()).toBe(9n);
    tracker.done(9n);
    expect(tracker.toCommit()).toBe(10n);
  });

  it('knows a batch that comes again', () => {
    const tracker = new OffsetTracker();
    for (const offset of [1n, 2n]) tracker.deliver(offset);
    tracker.done(1n);
    for (const offset of [1n, 2n]) tracker.deliver(offset);
    expect(tracker.isDone(1n)).toBe(true);
    expect(tracker.isDone(2n)).toBe(false);
    tracker.done(2n);
    expect(tracker.toCommit()).toBe(3n);
  });

  it('never passes what is not done and never goes down, in any order', () => {
    const order = fc
      .integer({ min: 1, max: 3000 })
      .chain((count) => fc.record({ count: fc.constant(count), done: fc.shuffledSubarray([...Array(count).keys()]) }));
    fc.assert(
      fc.property(order, ({ count, done }) => {
        const tracker = new OffsetTracker();
        for (let offset = 0; offset < count; offset += 1) tracker.deliver(BigInt(offset));
        const isDone = new Set<number>();
        let first = 0;
        for (const offset of done) {
          tracker.done(BigInt(offset));
          isDone.add(offset);
          while (isDone.has(first)) first += 1;
          expect(tracker.position()).toBe(BigInt(first));
        }
      }),
      { numRuns: 30 },
    );
  });
});
