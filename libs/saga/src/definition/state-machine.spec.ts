import fc from 'fast-check';
import { defineSaga } from './define-saga.js';
import { WatchedRun, type Edge } from './testing/edges.js';

const run = () => null;
const compensate = run;

/** Two steps that can be undone, with limits for the run and for its undo. */
const saga = defineSaga({
  id: 'order',
  timeout: 60_000,
  compensationTimeout: 60_000,
  steps: [
    { name: 'a', run, compensate, compensateRetry: { maxAttempts: 1 } },
    { name: 'b', run, compensate, compensateRetry: { maxAttempts: 1 } },
    { name: 'c', run },
  ],
});

/** What the contract allows, and what `cancel` adds to it (W13). pending is a view of running. */
const LEGAL: readonly Edge[] = [
  'running > succeeded',
  'running > compensating',
  'running > failed',
  'running > expired',
  'running > cancelled',
  'compensating > compensated',
  'compensating > compensation_failed',
  'compensating > expired',
  'compensating > cancelled',
];

async function watch(walk: (watched: WatchedRun) => Promise<void>): Promise<WatchedRun> {
  const watched = new WatchedRun(saga);
  await watched.start();
  await walk(watched);
  return watched;
}

const WAYS: readonly (readonly [string, readonly Edge[], (watched: WatchedRun) => Promise<void>])[] = [
  [
    'every step succeeds',
    ['running > succeeded'],
    async (watched) => {
      for (let step = 0; step < 3; step += 1) await watched.step('completed');
    },
  ],
  ['the first step fails: there is nothing to undo', ['running > failed'], (watched) => watched.step('failed')],
  [
    'a later step fails, and the undo succeeds',
    ['running > compensating', 'compensating > compensated'],
    async (watched) => {
      await watched.step('completed');
      await watched.step('failed');
      await watched.step('completed');
    },
  ],
  [
    'a later step fails, and so does the undo: not failed but compensation_failed',
    ['running > compensating', 'compensating > compensation_failed'],
    async (watched) => {
      await watched.step('completed');
      await watched.step('failed');
      await watched.step('failed');
    },
  ],
  ['its time passes before anything was done', ['running > expired'], (watched) => watched.passes(60_001)],
  [
    'its time passes after something was done (W3)',
    ['running > compensating', 'compensating > expired'],
    async (watched) => {
      await watched.step('completed');
      await watched.passes(60_001);
      await watched.step('completed');
    },
  ],
  ['it is cancelled before anything was done', ['running > cancelled'], (watched) => watched.cancel()],
  [
    'it is cancelled after something was done',
    ['running > compensating', 'compensating > cancelled'],
    async (watched) => {
      await watched.step('completed');
      await watched.cancel();
      await watched.step('completed');
    },
  ],
];

describe('the state machine of sagas, as decide has it', () => {
  it.each(WAYS)('K4: %s', async (_what, edges, walk) => {
    const watched = await watch(walk);
    expect([...watched.edges]).toEqual(edges);
    const { run: view } = await watched.view();
    expect(view.endedAt).not.toBeNull();
  });

  it('K4: these ways take every edge that there is', () => {
    expect(new Set(WAYS.flatMap(([, edges]) => edges))).toEqual(new Set(LEGAL));
  });

  /** Steps of a walk; their order is random, and most make no sense when they come. */
  const MOVES: Readonly<Record<string, (watched: WatchedRun) => Promise<unknown>>> = {
    claim: (watched) => watched.claim(),
    complete: (watched) => watched.report('completed'),
    fail: (watched) => watched.report('failed'),
    'fail for now': (watched) => watched.report('failed', true),
    cancel: (watched) => watched.cancel(),
    'a lease passes': (watched) => watched.passes(10_001),
    'the run passes': (watched) => watched.passes(60_001),
    'the clock of the process jumps back': (watched) => Promise.resolve((watched.wallMs -= 3_600_000)),
    'and ahead': (watched) => Promise.resolve((watched.wallMs += 7_200_000)),
  };

  it('K4: no walk takes another edge; nothing changes a run that has ended, and only such a run has an end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...Object.keys(MOVES)), { maxLength: 25 }), async (names) => {
        const watched = await watch(async (walked) => {
          for (const name of names) await MOVES[name]?.(walked);
        });
        for (const edge of watched.edges) expect(LEGAL).toContain(edge);
        // Reports of cut-off steps may come late and be kept; they change no status.
        for (const edge of watched.edges)
          expect(edge).not.toMatch(/^(succeeded|failed|compensated|expired|cancelled) >/);
        const { run: view } = await watched.view();
        const isOver = view.status !== 'RUNNING' && view.status !== 'COMPENSATING';
        expect(view.endedAt !== null).toBe(isOver);
        // Forward once, undo once, end once.
        expect(watched.edges.size).toBeLessThanOrEqual(2);
      }),
      { numRuns: 150 },
    );
  }, 60_000);

  it('K5: time is that of the database: whatever the clock of the process does, instants never go back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: -3_600_000, max: 3_600_000 }), { maxLength: 6 }), async (jumps) => {
        const watched = await watch(async (walked) => {
          const startedAt = (await walked.view()).run.startedAt.getTime();
          for (const jump of [...jumps, 0, 0, 0]) {
            walked.wallMs += jump;
            // Equality is fine: between some steps no time passes at all.
            if (jump % 2 === 0) walked.store.advance(1);
            await walked.step('completed');
          }
          const { run: view } = await walked.view();
          expect(view.status).toBe('SUCCEEDED');
          expect(view.endedAt?.getTime()).toBeGreaterThanOrEqual(startedAt);
        });
        const instants = (await watched.history()).map(({ at }) => at.getTime());
        expect(instants).toEqual(instants.toSorted((a, b) => a - b));
      }),
      { numRuns: 30 },
    );
  });

  it('K6: one step after the other, each once; after the last there is none, and reports of others change nothing', async () => {
    const watched = new WatchedRun(saga);
    await watched.start();
    const ran: string[] = [];
    for (let [step, ...more] = await watched.claim(); step !== undefined; [step, ...more] = await watched.claim()) {
      expect(more).toEqual([]);
      ran.push(step.nodeId);
      expect(await watched.reportOf({ ...step, attempt: step.attempt + 1 }, 'completed')).toBe('STALE');
      expect(await watched.reportOf({ ...step, taskId: watched.runId }, 'completed')).toBe('NOT_FOUND');
      expect(await watched.reportOf(step, 'completed')).toBe('APPLIED');
      expect(await watched.reportOf(step, 'completed')).toBe('DUPLICATE');
      expect(await watched.reportOf(step, 'failed')).toBe('CONFLICT');
    }
    expect(ran).toEqual(['a', 'b', 'c']);
    expect((await watched.view()).run.status).toBe('SUCCEEDED');
  });
});
