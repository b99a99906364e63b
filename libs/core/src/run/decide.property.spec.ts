import * as fc from 'fast-check';
import type { Dag } from '../definition/model.js';
import { anyDag, anyNextDag, anySteps, type Step } from '../testing/arbitraries.js';
import { Coverage } from '../testing/coverage.js';
import { FakeRun } from '../testing/fake-run.js';
import { World } from '../testing/world.js';
import { evolve } from './evolve.js';
import { newRun } from './new-run.js';
import { isTerminal } from './status.js';
import { needsUndo } from './undo.js';

// A fixed seed: the same histories each time, and FC_SEED for others.
const settings = { seed: Number(process.env['FC_SEED'] ?? 20_261_130), numRuns: Number(process.env['FC_RUNS'] ?? 80) };

/** What all histories of this file have seen of the machine. */
const coverage = new Coverage();

function play(dag: Dag, steps: readonly Step[]): World {
  const world = newWorld(dag);
  for (const step of steps) world.step(step);
  return world;
}

function newWorld(dag: Dag): World {
  // Some runs start from a node.
  return new World(new FakeRun(dag, '{"a":1}'), coverage).start(dag.order.length % 5 === 4 ? dag.order[2] : undefined);
}

/** I5: one dispatch for each attempt, over all epochs. */
function expectUniqueDispatches(world: World): void {
  const keys = world.run.store.dispatches.map((sent) => `${sent.nodeId} ${sent.item} ${sent.kind} ${sent.attempt}`);
  expect(new Set(keys).size).toBe(keys.length);
}

/** I10: what was undone needed it; and unless the run kept its effects on purpose, what needed it was undone. */
function expectExactUndo(world: World): void {
  const { state, dag } = world.run;
  const rows = [...state.tasks.values()];
  const keepsEffects = state.status === 'SUCCEEDED' || (state.status === 'EXPIRED' && dag.spec.onDeadline === 'expire');
  for (const step of rows.filter((row) => row.kind === 'forward')) {
    const node = dag.nodes.get(step.nodeId);
    const needed = node?.type === 'task' && needsUndo(node, step);
    const undone = rows.some(
      (row) =>
        row.kind === 'compensate' &&
        row.nodeId === step.nodeId &&
        row.generation === step.generation &&
        row.status !== 'CANCELLED',
    );
    if (undone !== needed && !(keepsEffects && needed)) throw new Error(`undone ${undone}: ${JSON.stringify(step)}`);
  }
}

describe('any history of any graph', () => {
  // FakeRun checks after each event: state = evolve(state, actions), the same decision twice (I3), check() is empty.
  it.each(['does its work', 'fails', 'dies'] as const)(
    'ends when the world does its part: a worker that %s',
    (worker) => {
      fc.assert(
        fc.property(anyDag, anySteps, anySteps, (dag, steps, more) => {
          const world = newWorld(dag);
          for (const half of [steps, more]) {
            for (const step of half) world.step(step);
            world.drain(worker);
            expect(isTerminal(world.run.state.status)).toBe(true);
            expect(world.run.store.timers.size).toBe(0);
            expectUniqueDispatches(world);
            expectExactUndo(world);
          }
        }),
        settings,
      );
    },
  );

  it('moves between versions that have nothing in common, or refuses to, and ends', () => {
    let moved = 0;
    fc.assert(
      fc.property(anyDag, anyNextDag, fc.array(anySteps, { minLength: 3, maxLength: 3 }), (dag, nextDag, parts) => {
        const world = newWorld(dag);
        world.nextDag = nextDag;
        for (const part of parts) {
          for (const step of part) world.step(step);
          world.drain(part.length % 2 === 0 ? 'fails' : 'does its work');
          expectUniqueDispatches(world);
        }
        if (world.run.dag.version === 2) moved += 1;
      }),
      settings,
    );
    expect(moved).toBeGreaterThan(0);
  });

  it('I4: nothing but a retry changes a run that has ended', () => {
    fc.assert(
      fc.property(anyDag, anySteps, anySteps, (dag, steps, more) => {
        const world = play(dag, steps);
        world.drain('does its work');
        const ended = world.run.state;
        const reopening = new Set(['retry', 'retry-compensation']);
        for (const step of more) if (!reopening.has(step.what)) world.step(step);
        expect(world.run.state).toBe(ended);
      }),
      settings,
    );
  });

  it('a batch of n events leaves the state of n single events: evolve over all actions at once', () => {
    fc.assert(
      fc.property(anyDag, anySteps, (dag, steps) => {
        const world = play(dag, steps);
        const { run } = world;
        const start = newRun({
          runId: 'run-1',
          namespace: 'default',
          definitionId: dag.definitionId,
          definitionVersion: dag.version,
          route: 'kafka',
        });
        const replayed = evolve(start, run.applied);
        expect({ ...replayed, version: 0 }).toEqual({ ...run.state, version: 0 });
      }),
      settings,
    );
  });

  it('reaches all of the state machine: each event in each status, with each effect that it can have', () => {
    fc.assert(
      fc.property(anyDag, anyNextDag, fc.array(anySteps, { minLength: 3, maxLength: 3 }), fc.nat(1_000), (...args) => {
        const [dag, nextDag, parts, pick] = args;
        const world = newWorld(dag);
        world.nextDag = nextDag;
        parts.forEach((part, index) => {
          world.signal('go');
          for (const step of part) {
            world.step(step);
            world.meet(step.pick);
          }
          if (pick % 2 === 0) world.cutOff();
          for (let row = 0; row < dag.order.length; row += 1) world.meet(pick + row);
          world.drain((['fails', 'does its work', 'dies'] as const)[(pick + index) % 3] ?? 'fails');
          world.meet(pick);
        });
      }),
      { ...settings, numRuns: settings.numRuns * 3 },
    );
    expect(coverage.findings()).toEqual([]);
  });

  afterAll(() => {
    process.stdout.write(`${coverage.table()}\n`);
  });
});
