import { Coverage } from './coverage.js';
import { chain, definition, task } from './definitions.js';
import { FakeRun } from './fake-run.js';
import { World } from './world.js';

describe('the judge of coverage', () => {
  const dag = definition(chain(task('a'), task('b')));

  function seen(play: (world: World) => void): Coverage {
    const coverage = new Coverage();
    play(new World(new FakeRun(dag), coverage).start());
    return coverage;
  }

  it('finds nothing good in no events at all', () => {
    expect(new Coverage().findings()).toEqual(
      expect.arrayContaining(['never reached: RunStarted × RUNNING → applied', '100.0 % of the events were ignored']),
    );
  });

  it('names what was not reached, and not what was', () => {
    const findings = seen((world) => world.drain('does its work')).findings();
    expect(findings).toContain('never reached: RunCancelled × RUNNING → applied');
    expect(findings).toContain('never reached: NodeFailed × step SCHEDULED → applied');
    expect(findings).toContain('never reached: report → DUPLICATE');
    expect(findings).not.toContain('never reached: NodeCompleted × RUNNING → applied');
    expect(findings).not.toContain('never reached: NodeCompleted × step SCHEDULED → applied');
    expect(findings).not.toContain('never reached: report → APPLIED');
  });

  it('names what cannot be: the table is the machine', () => {
    const coverage = new Coverage();
    const run = new FakeRun(dag).start();
    const before = { ...run.state, status: 'SUCCEEDED' as const };
    coverage.note({ type: 'RunStarted' }, before, { kind: 'applied', actions: [], state: run.state });
    expect(coverage.findings()).toContain('cannot be, but was: RunStarted × SUCCEEDED → applied');
  });

  it('fails at more than 70 % ignored events, and not at 70 %', () => {
    const ignored = (times: number): string[] =>
      seen((world) => {
        world.drain('does its work'); // with the start, three events that are applied
        for (let time = 0; time < times; time += 1) world.step({ what: 'start-again', pick: 0, flag: false });
      })
        .findings()
        .filter((finding) => finding.includes('ignored') && finding.includes('%'));
    expect(ignored(7)).toEqual([]);
    expect(ignored(8)).toEqual(['72.7 % of the events were ignored']);
  });

  it('prints one line an event, with a mark where it has not been', () => {
    const table = seen((world) => world.drain('does its work')).table();
    expect(table).toMatch(/^3 events: 3 applied, 0 ignored \(0\.0 %\), 0 refused$/m);
    expect(table).toMatch(/^NodeCompleted +A2 I! /m);
    expect(table).toMatch(/^RunCancelled +A! /m);
  });
});
