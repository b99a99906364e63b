import type { CommitFacts, EngineApi } from '@baton/engine';
import { engineOn, openTasks, publish, type EngineOnPostgres } from './testing/engine-on-postgres.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE } from './testing/writes.js';

const meeting = JSON.stringify({
  id: 'meeting',
  version: 1,
  nodes: [
    { id: 'top', type: 'task', queue: 'work', compensate: { task: 'undo.top' } },
    { id: 'left', type: 'task', queue: 'work', after: ['top'] },
    { id: 'right', type: 'task', queue: 'work', after: ['top'], retry: { maxAttempts: 3, initialInterval: 'PT1S' } },
    { id: 'wait', type: 'wait', signal: 'go', after: ['top'], timeout: 'PT1H' },
    {
      ...{ id: 'join', type: 'task', queue: 'work', after: ['left', 'right', 'wait'] },
      input: { left: '${nodes.left.output}', right: '${nodes.right.output}', said: '${nodes.wait.output}' },
    },
  ],
});

/** One input of a run: the engine's call, made when the one before it is answered, or together with it. */
type Input = (engine: EngineApi, run: Run) => Promise<unknown>;

interface Run {
  readonly runId: string;
  /** Every task that has been open before these inputs. */
  readonly tasks: ReadonlyMap<string, { readonly taskId: string; readonly nodeId: string; readonly attempt: number }>;
}

const address = (run: Run) => ({ namespace: NAMESPACE, runId: run.runId });
const task = (run: Run, nodeId: string) => {
  const found = run.tasks.get(nodeId);
  if (found === undefined) throw new Error(`no open task of ${nodeId}`);
  return found;
};
const completes =
  (nodeId: string, output = `{"of":"${nodeId}"}`): Input =>
  (engine, run) =>
    engine.report({ ...address(run), ...task(run, nodeId), status: 'completed', output });
const fails =
  (nodeId: string, retryable: boolean): Input =>
  (engine, run) => {
    const failure = { code: 'TASK_FAILED', message: 'no' };
    return engine.report({ ...address(run), ...task(run, nodeId), status: 'failed', failure, retryable });
  };
const signals =
  (signalId: string, name = 'go', payload = `"${signalId}"`): Input =>
  (engine, run) =>
    engine.signal({ ...address(run), name, payload, signalId });
const wakes =
  (nodeId: string): Input =>
  (engine, run) =>
    engine.fireDue([{ kind: 'task', ...address(run), ...task(run, nodeId) }]);
const cancels: Input = (engine, run) => engine.cancel({ ...address(run), requestId: 'stop', reason: 'asked' });

/** All rows of a run by what they say, without ids and instants: what must not depend on the batches. */
async function contentOf(fixture: StoreFixture, runId: string): Promise<unknown> {
  const ask = (sql: string) => fixture.query(sql, [runId]);
  return {
    run: await ask(`SELECT status, cause, undo, epoch, journal_seq, outbox_seq, buffered_signals, failure_code, failure_node,
        ended_at IS NOT NULL AS ended FROM baton.workflow_runs WHERE run_id = $1`),
    tasks:
      await ask(`SELECT node_id, kind, generation, status, attempt, failures, losses, redispatches, unknown_outcome,
        cut_off, settled_seq, failure_code, queue, handler, input, output, wake_at IS NULL AS sleeps,
        wake_at = backoff_until AS wakes_after_backoff, dispatched_at IS NULL AS never_sent, settled_at IS NULL AS open
      FROM baton.task_instances WHERE run_id = $1 ORDER BY node_id, kind, generation`),
    journal: await ask(`SELECT seq, kind, node_id, task_kind, attempt, code FROM baton.run_journal
      WHERE run_id = $1 ORDER BY seq`),
    outbox: await ask(`SELECT run_seq, type, topic FROM baton.outbox WHERE run_id = $1 ORDER BY run_seq`),
    signals:
      await ask(`SELECT signal_id, name, payload, status, seq, consumed_by IS NOT NULL AS taken FROM baton.signals
      WHERE run_id = $1 ORDER BY seq`),
    timers: await ask('SELECT kind, node_id, generation FROM baton.timers WHERE run_id = $1 ORDER BY kind, node_id'),
    keys: await ask(`SELECT kind, replace(key, run_id::text, '') AS key FROM baton.run_keys WHERE run_id = $1`),
  };
}

describe('the rows of a batch', () => {
  let fixture: StoreFixture;
  let engine: EngineOnPostgres;
  const commits: CommitFacts[] = [];

  beforeAll(async () => {
    fixture = await storeFixture(18);
    await publish(fixture, meeting);
    engine = engineOn(fixture.url, { hooks: { onCommit: (commit) => commits.push(commit) } });
  });
  afterAll(async () => {
    await engine.close();
    await fixture.close();
  });

  const openOf = async (runId: string): Promise<Run> => {
    const open = (await openTasks(fixture)).get(runId) ?? [];
    return { runId, tasks: new Map(open.map((one) => [one.nodeId, one])) };
  };
  const started = async (before: readonly Input[]): Promise<Run> => {
    const { runId } = await engine.engine.start({ namespace: NAMESPACE, definitionId: 'meeting', input: '1' });
    for (const input of before) await input(engine.engine, await openOf(runId));
    return openOf(runId);
  };
  const answerOf = (call: Promise<unknown>) => call.catch((error: { code: string }) => error.code);

  /** Both ways on the real tables; answers the content after the batch, and how many events its largest commit held. */
  const bothWays = async (before: readonly Input[], inputs: readonly Input[]) => {
    const [single, batch] = [await started(before), await started(before)];
    const answers: unknown[] = [];
    for (const input of inputs) answers.push(await answerOf(input(engine.engine, single)));
    commits.length = 0;
    const together = await Promise.all(inputs.map((input) => answerOf(input(engine.engine, batch))));
    expect(together).toEqual(answers);
    const rows = await contentOf(fixture, batch.runId);
    expect(rows).toEqual(await contentOf(fixture, single.runId));
    return { rows, largest: Math.max(...commits.map(({ events }) => events)) };
  };

  it('R2: one that is made and changed by one batch is inserted once, in its final state, as two transactions leave it', async () => {
    const { rows, largest } = await bothWays([], [completes('top'), signals('s1')]);
    expect(largest).toBe(2);
    expect(rows).toMatchObject({ signals: [{ signal_id: 's1', status: 'CONSUMED', taken: true }] });
  });

  it('R2: one that is made and deleted by one batch is not written at all: a timer of a wait that is over at once', async () => {
    const { rows, largest } = await bothWays([], [completes('top'), signals('s1'), signals('s2')]);
    expect(largest).toBe(3);
    expect(rows).toMatchObject({ timers: [], signals: [{ status: 'CONSUMED' }, { status: 'BUFFERED' }] });
  });

  it('R2, R3: a signal that is buffered and taken by one batch is one row, and its payload reaches the wait', async () => {
    const { rows, largest } = await bothWays([], [signals('early'), completes('top'), signals('late')]);
    expect(largest).toBe(3);
    const { tasks } = rows as { tasks: { node_id: string; output: string }[] };
    expect(tasks.find(({ node_id: node }) => node === 'wait')?.output).toBe('"early"');
  });

  it('R3: what later decisions of a batch read are the outputs that earlier ones brought', async () => {
    const inputs = [completes('left', '{"n": 9007199254740993}'), signals('go-on'), completes('right', '[ ]')];
    const { rows, largest } = await bothWays([completes('top')], inputs);
    expect(largest).toBe(3);
    const { tasks } = rows as { tasks: { node_id: string; input: string }[] };
    expect(tasks.find(({ node_id: node }) => node === 'join')?.input).toBe(
      '{"left":{"n": 9007199254740993},"right":[ ],"said":"go-on"}',
    );
  });

  it('R2: a row that is changed twice is updated once, fenced on what was loaded', async () => {
    const { rows, largest } = await bothWays([completes('top')], [wakes('left'), completes('left'), completes('left')]);
    expect(largest).toBe(3);
    expect(rows).toMatchObject({ run: [{ status: 'RUNNING' }] });
  });

  it.each<[string, readonly Input[], readonly Input[]]>([
    ['ends and begins an attempt', [completes('top')], [fails('right', true), completes('left'), wakes('right')]],
    ['ends what it began', [], [completes('top'), cancels, signals('too-late')]],
    ['locks first, for all that follows', [completes('top')], [wakes('left'), completes('right'), signals('a'), cancels]],
    ['fails and goes back', [completes('top')], [completes('left'), fails('right', false), signals('a', 'other')]],
    ['hears the same again', [], [completes('top'), completes('top'), completes('top', '"other"'), signals('a'), signals('a'), signals('a', 'go', '2')]],
  ])('R2: a batch that %s leaves the rows that its events leave one by one', async (_what, before, inputs) => {
    await bothWays(before, inputs);
  }); // prettier-ignore
});
