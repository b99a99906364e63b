import { eventually } from '@baton/testkit';
import { defineSaga } from '../../definition/define-saga.js';
import type { StepContext } from '../../definition/types.js';
import { ends, Ledger } from './saga-suite.js';
import type { SagaWorld } from './saga-world.js';

const cycle = (): unknown => {
  const value: Record<string, unknown> = {};
  value['self'] = value;
  return value;
};

const untilAborted = ({ signal }: StepContext) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

/** What user code and clocks do that they should not (section 2.7 of the issue). */
export function describeBadInput(name: string, open: () => Promise<SagaWorld>): void {
  describe(`bad input on ${name}`, () => {
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

    it.each<[string, () => unknown]>([
      ['holds a BigInt', () => ({ n: 1n })],
      ['has a cycle', cycle],
      ['is a function', () => () => 1],
      ['has 5 MB', () => 'x'.repeat(5 * 1024 * 1024)],
      ['holds a lone surrogate', () => '\ud800'],
    ])(
      'W8: an output that %s fails the step once, and its own undo runs, since its work is done',
      async (what, output) => {
        const id = `output-${what.replaceAll(' ', '-').toLowerCase()}`;
        const saga = defineSaga({
          id,
          retry: { maxAttempts: 5, baseInterval: 1 },
          steps: [ledger.undoable('before'), ledger.undoable('bad', undefined, ledger.step('bad', output))],
        });
        const process = await world.process({ sagas: [saga] });
        const runId = await process.start(id);
        expect(await ends(process, runId)).toBe('compensated');
        expect(ledger.calls).toEqual(['before', 'bad', 'undo bad', 'undo before']);
        const failed = (await process.journal(runId)).find(({ kind }) => kind === 'step_failed');
        expect(failed).toMatchObject({ step: 'bad', code: 'OUTPUT_INVALID' });
      },
    );

    it('an output that is undefined is null', async () => {
      const seen: unknown[] = [];
      const saga = defineSaga({
        id: 'undefined-output',
        steps: [ledger.step('a', () => undefined), ledger.step('b', ({ previous }) => void seen.push(previous))],
      });
      const process = await world.process({ sagas: [saga] });
      expect(await ends(process, await process.start('undefined-output'))).toBe('succeeded');
      expect(seen).toEqual([null]);
    });

    it.each<[string, unknown]>([
      ['null', null],
      ['undefined', undefined],
      [
        'an object with getters that throw',
        {
          get message() {
            throw new Error('gotcha');
          },
        },
      ],
    ])('a step that throws %s has failed, and nothing else has', async (what, thrown) => {
      const id = `throws-${what.split(' ')[0] === 'an' ? 'getters' : what}`;
      const saga = defineSaga({
        id,
        steps: [
          ledger.undoable('a'),
          ledger.step('b', () => {
            throw thrown as Error;
          }),
        ],
      });
      const process = await world.process({ sagas: [saga] });
      const runId = await process.start(id);
      expect(await ends(process, runId)).toBe('compensated');
      const failed = (await process.journal(runId)).find(({ kind }) => kind === 'step_failed');
      expect(failed).toMatchObject({ step: 'b', code: 'STEP_FAILED' });
      expect(process.log.of('error')).toEqual([]);
    });

    it('W20: a step that never settles and ignores its abort times out, is undone, and gives its slot to others', async () => {
      const wedged = ledger.step('wedged', () => ledger.hold('never'), { timeout: 50 });
      const saga = defineSaga({ id: 'never-settles', steps: [ledger.undoable('a'), wedged] });
      const other = defineSaga({ id: 'others', steps: [ledger.step('other')] });
      const process = await world.process({ sagas: [saga, other], concurrency: 1 });
      const runId = await process.start('never-settles');
      const next = await process.start('others');
      expect(await ends(process, next)).toBe('succeeded');
      expect(await ends(process, runId)).toBe('compensated');
      expect(ledger.calls.filter((call) => call !== 'other')).toEqual(['a', 'wedged', 'undo a']);
    });

    it('C20: a stop names the step that ignores its abort, and its run goes on elsewhere when its lease is over', async () => {
      const saga = defineSaga({
        id: 'ignores',
        steps: [ledger.step('deaf', ({ attempt }) => (attempt === 1 ? ledger.hold('never') : 'done'))],
      });
      const first = await world.process({ sagas: [saga] });
      const runId = await first.start('ignores');
      await eventually(() => ledger.calls.includes('deaf'));
      await expect(first.runtime.stop(20)).rejects.toMatchObject({
        code: 'SAGA_STOP_TIMEOUT',
        details: [{ code: 'STILL_RUNNING', pointer: `/runs/${runId}/steps/deaf` }],
      });
      const second = await world.process({ sagas: [saga] });
      expect(await second.runtime.tick()).toEqual({ claimed: 0 });
      await world.passes(31_000);
      expect(await ends(second, runId)).toBe('succeeded');
      expect(ledger.calls).toEqual(['deaf', 'deaf']);
    });

    it('W11: the clock of the database jumps an hour ahead under a step: it is recorded once', async () => {
      const saga = defineSaga({ id: 'ahead', steps: [ledger.step('a', () => ledger.hold('a')), ledger.step('b')] });
      const process = await world.process({ sagas: [saga] });
      const runId = await process.start('ahead');
      await eventually(() => ledger.calls.includes('a'));
      await world.passes(3_600_000);
      await eventually(() => ledger.calls.filter((call) => call === 'a').length === 2);
      ledger.open('a');
      expect(await ends(process, runId)).toBe('succeeded');
      const completed = (await process.journal(runId)).filter(
        ({ kind, step }) => kind === 'step_completed' && step === 'a',
      );
      expect(completed).toHaveLength(1);
    });

    it('W11: it jumps an hour back: running steps are kept, and new ones run', async () => {
      const saga = defineSaga({ id: 'back', steps: [ledger.step('a', () => ledger.hold('a')), ledger.step('b')] });
      const process = await world.process({ sagas: [saga] });
      const runId = await process.start('back');
      await eventually(() => ledger.calls.includes('a'));
      await world.passes(-3_600_000);
      const other = await process.start('back');
      ledger.open('a');
      expect(await ends(process, runId)).toBe('succeeded');
      expect(await ends(process, other)).toBe('succeeded');
      expect([...ledger.calls].sort()).toEqual(['a', 'a', 'b', 'b']);
    });

    it('a cancel reaches the step that runs', async () => {
      const saga = defineSaga({ id: 'cancelled', steps: [ledger.undoable('a'), ledger.step('b', untilAborted)] });
      const config = { leaseDurationMs: 300, heartbeatIntervalMs: 50 };
      const process = await world.process({ sagas: [saga], config });
      const runId = await process.start('cancelled');
      await eventually(() => ledger.calls.includes('b'));
      await process.cancel(runId);
      expect(await ends(process, runId)).toBe('cancelled');
      expect(ledger.calls).toEqual(['a', 'b', 'undo a']);
    });
  });
}
