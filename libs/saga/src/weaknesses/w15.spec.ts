import { OldSaga } from './old/journals.js';
import { completed, failedWith, journalOf, step, undone } from './testing/journal-of.js';

interface Told {
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** W15: each step, failure, undo and end is told, by events that can be ordered, told apart and traced to a definition. */
function tellsEverything(events: readonly Told[], id: string): void {
  expect(events.map(({ type }) => type)).toEqual(
    ['started', 'step_completed', 'step_failed', 'compensation_started', 'step_compensated', 'compensated'].map(
      (name) => `saga.${id}.${name}`,
    ),
  );
  const versions = events.map(({ payload }) => payload['version']);
  expect(versions.every((version) => typeof version === 'number')).toBe(true);
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => Number(a) - Number(b)));
  for (const { payload } of events) expect(payload).toMatchObject({ definitionId: id, definitionVersion: 1 });
}

describe('W15: silence', () => {
  it('W15: every step, failure, undo and end is an event, with its position and its definition', async () => {
    const run = () => null;
    const { journal, begin, report } = await journalOf({
      id: 'told',
      steps: [
        { name: 'a', run, compensate: run },
        { name: 'b', run },
      ],
    });
    const b = step(await report(await begin(), completed));
    await report(step(await report(b, failedWith('NO', false))), undone);
    const events = await journal.loadSince(null, 100);
    tellsEverything(
      events.map(({ type, payload }) => ({ type, payload: JSON.parse(payload) as Told['payload'] })),
      'told',
    );
  });

  it('W15: the old behaviour fails this check', () => {
    const old = new OldSaga();
    old.run([
      { name: 'a', tries: ['ok'] },
      { name: 'b', tries: ['NO'] },
    ]);
    expect(() => tellsEverything(old.events, 'old')).toThrow();
    expect(old.events).toEqual([{ type: 'saga.old.step_completed', payload: { instanceId: 'run', step: 'a' } }]);
  });
});
