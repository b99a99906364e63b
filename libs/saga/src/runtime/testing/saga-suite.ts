import { NonRetryableError, TaskError } from '@baton/execution';
import { eventually } from '@baton/testkit';
import { defineSaga } from '../../definition/define-saga.js';
import type { CompensateContext, StepContext, StepDefinition, Outputs } from '../../definition/types.js';
import type { GlobalEvent } from '../../journal/ports.js';
import type { SagaProcess, SagaWorld } from './saga-world.js';

type AnyStep = StepDefinition<unknown, Outputs>;

/** What user code did, in order, and promises that hold it where a test wants it. */
export class Ledger {
  readonly calls: string[] = [];
  private readonly gates = new Map<string, PromiseWithResolvers<void>>();

  /** A step that writes down its call; what it does comes after. */
  step(name: string, run: (context: StepContext) => unknown = () => null, more: Partial<AnyStep> = {}): AnyStep {
    return {
      name,
      run: (context) => {
        this.calls.push(name);
        return run(context);
      },
      ...more,
    };
  }

  /** The same with an undo that writes down its call. */
  undoable(
    name: string,
    undo: (context: CompensateContext) => unknown = () => null,
    more: Partial<AnyStep> = {},
  ): AnyStep {
    const compensate = (context: CompensateContext) => {
      this.calls.push(`undo ${name}`);
      return undo(context);
    };
    return this.step(name, ({ step }) => ({ done: step }), { compensate, ...more });
  }

  hold(name: string): Promise<void> {
    return this.gate(name).promise;
  }

  open(name: string): void {
    this.gate(name).resolve();
  }

  private gate(name: string): PromiseWithResolvers<void> {
    const known = this.gates.get(name) ?? Promise.withResolvers<void>();
    this.gates.set(name, known);
    return known;
  }
}

export const fails = (code: string) => (): never => {
  throw new NonRetryableError(code, `it failed with ${code}`);
};

export async function ends(process: SagaProcess, runId: string): Promise<string> {
  return eventually(
    async () => {
      const status = await process.status(runId);
      return ['pending', 'running', 'compensating'].includes(status) ? undefined : status;
    },
    { what: `the end of ${runId}` },
  );
}

/** Kinds of the contract alone, in order; those of steps with their step. */
async function storyOf(process: SagaProcess, runId: string): Promise<readonly string[]> {
  const events = await process.journal(runId);
  return events
    .filter(({ kind }) => /^(step_(completed|failed|comp)|compensation_|saga_)/.test(kind))
    .map(({ kind, step }) => (kind.startsWith('step_') ? `${kind} ${String(step)}` : kind));
}

/** All events of a run that has ended. They can be read a moment later: when nothing older in the server is still open. */
export async function toldOf(world: SagaWorld, runId: string, last: string): Promise<readonly GlobalEvent[]> {
  return eventually(
    async () => {
      const events = await world.events(runId);
      return events.at(-1)?.type.endsWith(`.${last}`) === true ? events : undefined;
    },
    { what: `the event ${last} of ${runId}` },
  );
}

const soon = { maxAttempts: 2, baseInterval: 5, maxInterval: 10 };

/** How sagas go from start to end, on any journal. */
export function describeSagas(name: string, open: () => Promise<SagaWorld>): void {
  describe(`sagas on ${name}`, () => {
    let world: SagaWorld;
    beforeAll(async () => {
      world = await open();
    });
    afterEach(() => world.endProcesses());
    afterAll(() => world.close());

    let ledger: Ledger;
    beforeEach(() => {
      ledger = new Ledger();
    });

    const sagaOf = (id: string, steps: readonly AnyStep[], more: object = {}) => defineSaga({ id, steps, ...more });

    it('C7: (with more events than the seed: W14, W15) one step: its result, the end, and nothing to claim', async () => {
      const process = await world.process({ sagas: [sagaOf('one-step', [ledger.step('a', () => ({ n: 1 }))])] });
      const runId = await process.start('one-step');
      expect(await ends(process, runId)).toBe('succeeded');
      expect(await storyOf(process, runId)).toEqual(['step_completed a', 'saga_succeeded']);
      expect((await process.journal(runId)).map(({ version }) => version)).toEqual(
        [1, 2, 3, 4].slice(0, (await process.journal(runId)).length),
      );
      expect(await process.runtime.tick()).toEqual({ claimed: 0 });
      const types = (await toldOf(world, runId, 'succeeded')).map(({ type }) => type);
      expect(types.filter((type) => type === 'saga.one-step.step_completed')).toHaveLength(1);
      expect(types.at(-1)).toBe('saga.one-step.succeeded');
    });

    it.each([
      ['an error', fails('NO')],
      [
        'a thrown string',
        () => {
          throw 'no' as unknown as Error;
        },
      ],
      ['a rejected promise', () => Promise.reject(new Error('no'))],
    ])('C8: (events of failure and end too: W15) %s without undos fails the saga, once', async (what, run) => {
      const id = `fails-${what.replaceAll(' ', '-')}`;
      const process = await world.process({ sagas: [sagaOf(id, [ledger.step('a', run)])] });
      const runId = await process.start(id);
      expect(await ends(process, runId)).toBe('failed');
      expect(ledger.calls).toEqual(['a']);
      expect(await storyOf(process, runId)).toEqual(['step_failed a', 'saga_failed']);
      expect(await process.runtime.tick()).toEqual({ claimed: 0 });
      const types = (await toldOf(world, runId, 'failed')).map(({ type }) => type);
      expect(types).toEqual(expect.arrayContaining([`saga.${id}.step_failed`, `saga.${id}.failed`]));
    });

    it('C12: without undos there is no compensation event', async () => {
      const process = await world.process({
        sagas: [sagaOf('no-undos', [ledger.step('a'), ledger.step('b', fails('NO'))])],
      });
      const runId = await process.start('no-undos');
      expect(await ends(process, runId)).toBe('failed');
      expect(await storyOf(process, runId)).toEqual(['step_completed a', 'step_failed b', 'saga_failed']);
    });

    it('C13: (step_failed is in the log: W14) undo in reverse order, of what was done and nothing else', async () => {
      const saga = sagaOf('reverse', [
        ledger.undoable('a'),
        ledger.step('b'),
        ledger.undoable('c'),
        ledger.undoable('d', undefined, {
          run: () => {
            ledger.calls.push('d');
            return fails('NO')();
          },
        }),
        ledger.undoable('e'),
      ]);
      const process = await world.process({ sagas: [saga] });
      const runId = await process.start('reverse');
      expect(await ends(process, runId)).toBe('compensated');
      expect(ledger.calls).toEqual(['a', 'b', 'c', 'd', 'undo c', 'undo a']);
      expect(await storyOf(process, runId)).toEqual([
        ...['step_completed a', 'step_completed b', 'step_completed c', 'step_failed d', 'compensation_started'],
        ...['step_compensated c', 'step_compensated a', 'saga_compensated'],
      ]);
      const seqs = (await process.journal(runId)).map(({ version }) => version);
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    });

    it('C13: (after its retries: W5) an undo that fails is told, the walk goes on, and the end is compensation_failed', async () => {
      const saga = sagaOf('undo-fails', [
        ledger.undoable('a'),
        ledger.undoable('b', fails('STUCK'), { compensateRetry: { maxAttempts: 1 } }),
        ledger.step('c', fails('NO')),
      ]);
      const process = await world.process({ sagas: [saga] });
      const runId = await process.start('undo-fails');
      expect(await ends(process, runId)).toBe('compensation_failed');
      expect(ledger.calls).toEqual(['a', 'b', 'c', 'undo b', 'undo a']);
      expect((await storyOf(process, runId)).slice(-4)).toEqual([
        ...['compensation_started', 'step_compensation_failed b', 'step_compensated a', 'saga_compensation_failed'],
      ]);
    });

    it('C14: (changed: W15) the undo is told by events, each with the type of its saga', async () => {
      const process = await world.process({
        sagas: [sagaOf('told', [ledger.undoable('a'), ledger.step('b', fails('NO'))])],
      });
      const runId = await process.start('told');
      await ends(process, runId);
      const events = await toldOf(world, runId, 'compensated');
      expect(events.map(({ type }) => type)).toEqual(
        ['started', 'step_completed', 'step_failed', 'compensation_started', 'step_compensated', 'compensated'].map(
          (kind) => `saga.told.${kind}`,
        ),
      );
      expect(events.map(({ runSeq }) => runSeq)).toEqual([...events.map(({ runSeq }) => runSeq)].sort((a, b) => a - b));
      const [, completed] = events;
      expect(JSON.parse(completed?.payload ?? 'null')).toMatchObject({
        instanceId: runId,
        step: 'a',
        definitionId: 'told',
      });
    });

    it('C9, W3: (changed: what was done is undone) the timeout of a step ends it, and the run is undone', async () => {
      const slow = ledger.step(
        'slow',
        ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
        { timeout: 60 },
      );
      const process = await world.process({ sagas: [sagaOf('step-timeout', [ledger.undoable('a'), slow])] });
      const runId = await process.start('step-timeout');
      expect(await ends(process, runId)).toBe('compensated');
      expect(ledger.calls).toEqual(['a', 'slow', 'undo a']);
      expect((await process.journal(runId)).some(({ step, code }) => step === 'slow' && code === 'TIMEOUT')).toBe(true);
    });

    it('C9, W3: (changed: what was done is undone) the time of a run ends it, no further step runs, and it ends expired', async () => {
      const waits = ledger.step('b', () => ledger.hold('b'));
      // A longer lease than the run's time: only the deadline comes.
      const config = { leaseDurationMs: 600_000 };
      const process = await world.process({
        config,
        sagas: [sagaOf('expires', [ledger.undoable('a'), waits, ledger.step('c')], { timeout: 60_000 })],
      });
      const runId = await process.start('expires');
      await eventually(() => ledger.calls.includes('b'));
      await world.passes(61_000);
      await eventually(async () => (await process.status(runId)) !== 'running');
      ledger.open('b');
      expect(await ends(process, runId)).toBe('expired');
      expect(ledger.calls).toEqual(['a', 'b', 'undo a']);
    });

    it('C5, C6: the state of a run follows from its journal, and so does what is left to undo', async () => {
      const saga = sagaOf('fold', [
        ledger.undoable('a'),
        ledger.undoable('b', () => ledger.hold('undo b')),
        ledger.undoable('c'),
        ledger.step('d', fails('NO')),
      ]);
      const process = await world.process({ sagas: [saga] });
      const runId = await process.start('fold');
      await eventually(() => ledger.calls.includes('undo b'));
      expect(await process.status(runId)).toBe('compensating');
      const story = await storyOf(process, runId);
      const done = story.flatMap((kind) => /^step_completed (.*)/.exec(kind)?.[1] ?? []);
      const undone = new Set(story.flatMap((kind) => /^step_compensated (.*)/.exec(kind)?.[1] ?? []));
      expect(done.filter((step) => !undone.has(step))).toEqual(['a', 'b']);
      ledger.open('undo b');
      await ends(process, runId);
      expect(ledger.calls.slice(-3)).toEqual(['undo c', 'undo b', 'undo a']);
      expect((await storyOf(process, runId)).at(-1)).toBe(`saga_${await process.status(runId)}`);
    });

    it('C15, W4: (changed: interrupted is not failed) the next process finishes an undo, and repeats nothing that is recorded', async () => {
      const held = { value: true };
      const saga = sagaOf('handover', [
        ledger.undoable('a', () => (held.value ? ledger.hold('never') : null)),
        ledger.undoable('b'),
        ledger.undoable('x', fails('STUCK'), { compensateRetry: { maxAttempts: 1 } }),
        ledger.step('c', fails('NO')),
      ]);
      const first = await world.process({ sagas: [saga] });
      const runId = await first.start('handover');
      await eventually(() => ledger.calls.includes('undo a'));
      first.kill();
      held.value = false;
      await world.passes(31_000);
      const second = await world.process({ sagas: [saga] });
      expect(await ends(second, runId)).toBe('compensation_failed');
      expect(ledger.calls.filter((call) => call.startsWith('undo'))).toEqual(['undo x', 'undo b', 'undo a', 'undo a']);
      const story = await storyOf(second, runId);
      expect(story.filter((kind) => kind.startsWith('step_comp') && !kind.startsWith('step_completed'))).toEqual([
        ...['step_compensation_failed x', 'step_compensated b', 'step_compensated a'],
      ]);
    });

    it('C17: after a restart a saga goes on with the output of the step before', async () => {
      const seen: unknown[] = [];
      const saga = sagaOf('restart', [
        ledger.step('a', () => ({ token: 42 })),
        ledger.step('b', ({ previous, outputs }) => {
          seen.push(previous, outputs['a']);
          return ledger.calls.filter((call) => call === 'b').length === 1 ? ledger.hold('never') : 'b';
        }),
      ]);
      const first = await world.process({ sagas: [saga] });
      const runId = await first.start('restart');
      await eventually(() => ledger.calls.includes('b'));
      first.kill();
      await world.passes(31_000);
      const second = await world.process({ sagas: [saga] });
      expect(await ends(second, runId)).toBe('succeeded');
      expect(ledger.calls).toEqual(['a', 'b', 'b']);
      expect(seen).toEqual([{ token: 42 }, { token: 42 }, { token: 42 }, { token: 42 }]);
    });

    it('C18: (a full journal: W14) two processes and one run make one commit of each step', async () => {
      const saga = sagaOf('two', [ledger.step('a'), ledger.step('b'), ledger.step('c')]);
      const processes = [await world.process({ sagas: [saga] }), await world.process({ sagas: [saga] })] as const;
      const runIds = await Promise.all([1, 2, 3, 4, 5].map(() => processes[0].start('two')));
      for (const { runtime } of processes) runtime.kick();
      for (const runId of runIds) {
        expect(await ends(processes[1], runId)).toBe('succeeded');
        expect(await storyOf(processes[1], runId)).toEqual([
          ...['step_completed a', 'step_completed b', 'step_completed c', 'saga_succeeded'],
        ]);
      }
      expect(ledger.calls).toHaveLength(15);
    });

    it('C20: a step that was given back at the stop is taken by another process at once, without the end of its lease', async () => {
      const until = ({ signal }: StepContext) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      const saga = sagaOf('given-back', [
        ledger.step('a', (context) => (context.attempt === 1 ? until(context) : 'done')),
      ]);
      const first = await world.process({ sagas: [saga] });
      const runId = await first.start('given-back');
      await eventually(() => ledger.calls.includes('a'));
      const second = await world.process({ sagas: [saga] });
      await expect(first.runtime.stop(20)).rejects.toMatchObject({ kind: 'deadline', code: 'SAGA_STOP_TIMEOUT' });
      expect(await ends(second, runId)).toBe('succeeded');
    });

    it('C21: what is recorded of a failure holds no internals, and at most 256 bytes', async () => {
      const secret = 'postgres://user:hunter2@db/prod';
      const leaky = sagaOf('leaky', [
        ledger.step('a', () => {
          throw new Error(secret);
        }),
      ]);
      const typed = sagaOf('typed', [
        ledger.step('a', () => {
          throw new TaskError('NO_STOCK', 'ü'.repeat(500));
        }),
      ]);
      const process = await world.process({ sagas: [leaky, typed] });
      const runs = [await process.start('leaky'), await process.start('typed')] as const;
      for (const runId of runs) await ends(process, runId);
      const recorded = JSON.stringify([await process.journal(runs[0]), await toldOf(world, runs[0], 'failed')]);
      expect(recorded).toContain('STEP_FAILED');
      expect(recorded).not.toContain('hunter2');
      const failed = (await process.journal(runs[1])).find(({ kind }) => kind === 'step_failed');
      expect(failed?.code).toBe('NO_STOCK');
      const details = (await process.journal(runs[1])).map(({ detail }) => Buffer.byteLength(detail ?? ''));
      expect(Math.max(...details)).toBeLessThanOrEqual(256);
    });

    it('E3, W9: a failed try waits as a row and is tried again; it holds no slot meanwhile', async () => {
      const saga = sagaOf('waits', [
        ledger.step(
          'a',
          ({ attempt }) => {
            if (attempt === 1) throw new TaskError('AGAIN');
            return 'ok';
          },
          { retry: { maxAttempts: 2, baseInterval: 60_000, maxInterval: 60_000 } },
        ),
      ]);
      const other = sagaOf('passes-by', [ledger.step('other')]);
      const process = await world.process({ sagas: [saga, other], concurrency: 1 });
      const waiting = await process.start('waits');
      await eventually(() => ledger.calls.includes('a'));
      expect(await ends(process, await process.start('passes-by'))).toBe('succeeded');
      expect(ledger.calls).toEqual(['a', 'other']);
      await world.passes(61_000);
      expect(await ends(process, waiting)).toBe('succeeded');
      expect(process.observer.of('retry')).toMatchObject([{ step: 'a', code: 'AGAIN' }]);
    });

    it('C22: each drive, look and outcome is observed once', async () => {
      const process = await world.process({
        sagas: [sagaOf('observed', [ledger.step('a'), ledger.step('b', fails('NO'))])],
      });
      const runId = await process.start('observed');
      await ends(process, runId);
      await eventually(() => process.observer.of('drive').length > 0);
      const outcomes = process.observer.of('outcome').map(({ step, outcome }) => `${String(step)} ${String(outcome)}`);
      expect(outcomes).toEqual(['a succeeded', 'b failed']);
      expect(process.observer.of('drive')).toMatchObject([{ runId, result: 'ok', steps: 2 }]);
    });

    it('parallel steps run side by side, and what joins them sees all their outputs', async () => {
      const seen: unknown[] = [];
      const saga = sagaOf('parallel', [
        ledger.step('a'),
        ledger.step(
          'left',
          async () => {
            ledger.open('left');
            await ledger.hold('right');
            return 'l';
          },
          { after: ['a'] },
        ),
        ledger.step(
          'right',
          async () => {
            ledger.open('right');
            await ledger.hold('left');
            return 'r';
          },
          { after: ['a'] },
        ),
        ledger.step('join', ({ previous }) => void seen.push(previous), { after: ['left', 'right'] }),
      ]);
      const process = await world.process({ sagas: [saga] });
      expect(await ends(process, await process.start('parallel'))).toBe('succeeded');
      expect(seen).toEqual([{ left: 'l', right: 'r' }]);
    });

    it('W5: an undo is retried by its policy, and W7: a permanent failure of a step is not', async () => {
      const saga = sagaOf('stubborn', [
        ledger.undoable(
          'a',
          ({ attempt }) => {
            if (attempt === 1) throw new TaskError('LATER');
          },
          { compensateRetry: soon },
        ),
        ledger.step('b', fails('NEVER'), { retry: { maxAttempts: 9, baseInterval: 5 } }),
      ]);
      const process = await world.process({ sagas: [saga] });
      expect(await ends(process, await process.start('stubborn'))).toBe('compensated');
      expect(ledger.calls).toEqual(['a', 'b', 'undo a', 'undo a']);
    });
  });
}
