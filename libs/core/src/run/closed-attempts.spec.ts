import { chain, definition, task } from '../testing/definitions.js';
import type { TaskOptions } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';

const reports: Readonly<Record<string, (run: FakeRun) => unknown>> = {
  completed: (run) => run.complete('a', '{"v":1}'),
  'completed with other content': (run) => run.complete('a', '{"v":2}'),
  failed: (run) => run.fail('a', 'BROKEN', { retryable: true }),
  'failed for good': (run) => run.fail('a', 'DECLINED'),
  deferred: (run) => run.defer('a', 1_000),
};
const kinds = Object.keys(reports);

function leased(options: TaskOptions = {}): FakeRun {
  return new FakeRun(definition(chain(task('a', options), task('b')))).start().lease('a');
}

function send(run: FakeRun, kind: string): unknown {
  return reports[kind]?.(run);
}

describe('an attempt that a report has closed (R14)', () => {
  it.each(kinds)('%s: the same again is DUPLICATE, all else CONFLICT, and nothing changes', (closing) => {
    const run = leased();
    expect(send(run, closing)).toMatchObject({ kind: 'applied', report: 'APPLIED' });
    const { state } = run;
    for (const kind of kinds) {
      const report = kind === closing ? 'DUPLICATE' : 'CONFLICT';
      expect(send(run, kind)).toMatchObject({ kind: 'ignored', report, actions: [] });
    }
    expect(run.state).toBe(state);
  });

  it.each(['failed', 'deferred'])('%s: keeps the hash of its report when the run is cancelled then', (closing) => {
    const run = leased();
    send(run, closing);
    run.cancel();
    expect(run.status('a')).toBe('CANCELLED');
    for (const kind of kinds) {
      expect(send(run, kind)).toMatchObject({ report: kind === closing ? 'DUPLICATE' : 'CONFLICT', actions: [] });
    }
  });

  it('keeps it while it is in backoff, and until the next one is out: then it is an older one, STALE', () => {
    const run = leased();
    run.fail('a', 'BROKEN', { retryable: true });
    expect(run.fail('a', 'BROKEN', { retryable: true })).toMatchObject({ report: 'DUPLICATE' });
    run.wakeAfter(1_000, 'a');
    const again = run.fail('a', 'BROKEN', { retryable: true, attempt: 1 });
    expect(again).toMatchObject({ kind: 'ignored', report: 'STALE', actions: [] });
    expect(run.task('a')).toMatchObject({ status: 'SCHEDULED', attempt: 2, failures: 1 });
  });
});

describe('an attempt that nobody reported (R14)', () => {
  it('is STALE once its end was decided: by its lease, a timeout, or a cancel', () => {
    const lost = leased();
    lost.wakeAfter(30_000, 'a');
    expect(lost.complete('a', '{}', { attempt: 1 })).toMatchObject({ kind: 'ignored', report: 'STALE', actions: [] });
    const slow = leased({ timeouts: { startToCloseMs: 10_000 }, retry: { maxAttempts: 1 } });
    slow.wakeAfter(10_000, 'a');
    expect(slow.complete('a')).toMatchObject({ kind: 'ignored', report: 'STALE', actions: [] });
    const cancelled = leased();
    cancelled.cancel();
    expect(cancelled.complete('a')).toMatchObject({ kind: 'ignored', report: 'STALE', actions: [] });
  });

  it('is open after its lease, startToClose or scheduleToClose have run out, until somebody decides it', () => {
    for (const timeouts of [{}, { startToCloseMs: 10_000 }, { scheduleToCloseMs: 10_000 }]) {
      const run = leased({ timeouts });
      run.store.now += 31_000;
      expect(run.complete('a')).toMatchObject({ kind: 'applied', report: 'APPLIED' });
      expect(run.wake('a')).toMatchObject({ kind: 'ignored', actions: [] });
      expect(run.task('a')).toMatchObject({ status: 'SUCCEEDED', losses: 0, failures: 0 });
    }
  });
});
