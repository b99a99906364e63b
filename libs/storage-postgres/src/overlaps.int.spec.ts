import type { EngineApi, LockedSession, Store } from '@baton/engine';
import { completedReport, engineOn, failedReport, openTasks, publish } from './testing/engine-on-postgres.js';
import type { EngineOnPostgres, OpenTask } from './testing/engine-on-postgres.js';
import { waitingFor } from './testing/locks.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE } from './testing/writes.js';

const node = (id: string, more: object = {}) => ({
  id,
  type: 'task',
  queue: 'work',
  retry: { maxAttempts: 1 },
  ...more,
});
const definitions = [
  { id: 'two', version: 1, nodes: [node('a'), node('b')] },
  { id: 'step', version: 1, nodes: [node('only')] },
  { id: 'saga', version: 1, nodes: [node('pay', { compensate: { task: 'undo.pay' } }), node('ship')] },
  { id: 'patience', version: 1, nodes: [{ id: 'w', type: 'wait', signal: 'go', timeout: 'PT10S' }] },
  {
    id: 'twice',
    version: 1,
    nodes: [
      { id: 'w1', type: 'wait', signal: 'paid' },
      { id: 'w2', type: 'wait', signal: 'paid', after: ['w1'] },
    ],
  },
];

/** Holds the next write back until it is told to go on: its decision is made by then. */
class Gate {
  private hold: Promise<void> | undefined;
  private reach: () => void = () => undefined;

  readonly around = (store: Store): Store => ({
    ...store,
    write: async (batch) => {
      await this.pass();
      return store.write(batch);
    },
    withLockedRuns: (refs, work, options) => {
      const gated = async (session: LockedSession) => {
        const write: LockedSession['write'] = async (batch) => {
          await this.pass();
          return session.write(batch);
        };
        return work({ ...session, write });
      };
      return store.withLockedRuns(refs, gated, options);
    },
  });

  private async pass(): Promise<void> {
    const held = this.hold;
    this.hold = undefined;
    if (held === undefined) return;
    this.reach();
    await held;
  }

  /** Resolves when a write has come; `release` lets it go on. */
  close(): { readonly reached: Promise<void>; release(): void } {
    let release = (): void => undefined;
    this.hold = new Promise((resolve) => (release = resolve));
    return { reached: new Promise((resolve) => (this.reach = resolve)), release };
  }
}

describe('what overlaps on PostgreSQL', () => {
  const gate = new Gate();
  let fixture: StoreFixture;
  let engines: EngineOnPostgres[];
  let one: EngineApi;
  let two: EngineApi;

  beforeAll(async () => {
    fixture = await storeFixture(18);
    for (const definition of definitions) await publish(fixture, JSON.stringify(definition));
    // I4, whoever writes: an ended run moves to another epoch, or not at all, and versions rise.
    await fixture.query(`
      CREATE FUNCTION watch_runs() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.version <= OLD.version THEN RAISE 'the version of % does not rise', OLD.run_id; END IF;
        IF OLD.status NOT IN ('RUNNING', 'COMPENSATING') AND NEW.epoch = OLD.epoch THEN
          RAISE 'an ended run is changed: % % -> %', OLD.run_id, OLD.status, NEW.status;
        END IF;
        RETURN NEW;
      END $$`);
    await fixture.query(
      'CREATE TRIGGER watch BEFORE UPDATE ON baton.workflow_runs FOR EACH ROW EXECUTE FUNCTION watch_runs()',
    );
    engines = [engineOn(fixture.url, {}, gate.around), engineOn(fixture.url)];
    one = engines[0]!.engine;
    two = engines[1]!.engine;
  });

  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    await fixture.close();
  });

  const begin = async (definitionId: string): Promise<string> =>
    (await one.start({ namespace: NAMESPACE, definitionId, input: null })).runId;

  async function start(definitionId: string): Promise<{ runId: string; tasks: ReadonlyMap<string, OpenTask> }> {
    const runId = await begin(definitionId);
    const open = (await openTasks(fixture)).get(runId) ?? [];
    return { runId, tasks: new Map(open.map((task) => [task.nodeId, task])) };
  }

  const statusOf = async (runId: string) => (await two.getRun(NAMESPACE, runId, false)).run.status;
  const codeOf = (error: { readonly code?: string }): string => error.code ?? String(error);

  it('B09: a decision that stalls before its write sees what was committed meanwhile, and the run ends', async () => {
    const { runId, tasks } = await start('two');
    const { reached, release } = gate.close();
    const older = one.report(completedReport(runId, tasks.get('a')!));
    await reached;
    expect(await two.report(completedReport(runId, tasks.get('b')!))).toBe('APPLIED');
    release();
    expect(await older).toBe('APPLIED');
    expect(await statusOf(runId)).toBe('SUCCEEDED');
  });

  it.each(['cancel', 'failure'] as const)(
    'B09, B34: a completion that stalls changes nothing after a %s',
    async (what) => {
      const { runId, tasks } = await start('step');
      const { reached, release } = gate.close();
      const older = one.report(completedReport(runId, tasks.get('only')!));
      await reached;
      if (what === 'cancel') await two.cancel({ namespace: NAMESPACE, runId, requestId: 'c', reason: 'asked' });
      else expect(await two.report(failedReport(runId, tasks.get('only')!))).toBe('APPLIED');
      release();
      expect(await older).toBe(what === 'cancel' ? 'STALE' : 'CONFLICT');
      expect(await statusOf(runId)).toBe(what === 'cancel' ? 'CANCELLED' : 'FAILED');
    },
  );

  it('B34: a cancel that stalls holds the run: the completion waits for it, and changes nothing', async () => {
    const { runId, tasks } = await start('step');
    const { reached, release } = gate.close();
    const cancel = one.cancel({ namespace: NAMESPACE, runId, requestId: 'c', reason: 'asked' });
    await reached;
    const report = two.report(completedReport(runId, tasks.get('only')!));
    await waitingFor(fixture, 'workflow_runs');
    release();
    expect(await cancel).toMatchObject({ status: 'CANCELLED' });
    expect(await report).toBe('STALE');
    expect(await statusOf(runId)).toBe('CANCELLED');
  });

  it('B39: an action that a slow consumer starts after the run has failed is refused before it is run', async () => {
    const { runId, tasks } = await start('saga');
    await two.report(failedReport(runId, tasks.get('ship')!));
    const { run, tasks: rows } = await two.getRun(NAMESPACE, runId, false);
    expect([run.status, rows.filter(({ kind }) => kind === 'compensate')]).toEqual(['FAILED', []]);
    const acquire = { namespace: NAMESPACE, runId, owner: 'slow', callId: 'c', ttlMs: 0, wantInput: true };
    expect(await one.acquire({ ...acquire, ...tasks.get('pay')! })).toMatchObject({ status: 'STALE' });
  });

  it('B45, B52: of a signal and a timeout at one instant one wins, and the loser leaves no timer', async () => {
    const runs = await Promise.all(Array.from({ length: 60 }, () => begin('patience')));
    const timers = await fixture.query<{ run_id: string; timer_id: string }>(
      'SELECT run_id, timer_id FROM baton.timers',
    );
    await fixture.moveClock('11 seconds');
    const won = { signal: 0, timeout: 0 };
    await Promise.all(
      runs.map(async (runId, round) => {
        const timerId = timers.find((timer) => timer.run_id === runId)!.timer_id;
        const fire = () => one.fireDue([{ kind: 'timer', namespace: NAMESPACE, runId, timerId }]);
        const signal = () =>
          two.signal({ namespace: NAMESPACE, runId, name: 'go', payload: '1', signalId: 's' }).catch(codeOf);
        const first = round % 2 === 0 ? signal() : undefined;
        const [[fired], signalled] = await Promise.all([fire(), first ?? signal()]);
        const status = await statusOf(runId);
        if (status === 'SUCCEEDED') {
          won.signal += 1;
          expect([fired?.outcome, signalled]).toEqual(['IGNORED', { delivered: true, duplicate: false }]);
        } else {
          won.timeout += 1;
          expect([status, fired?.outcome, signalled]).toEqual(['FAILED', 'APPLIED', 'RUN_TERMINAL']);
        }
      }),
    );
    await fixture.moveClock('0 seconds');
    expect(won.signal + won.timeout).toBe(60);
    expect(await fixture.query('SELECT 1 FROM baton.timers')).toEqual([]);
  });

  it('B49: two signals of one name at once go to two waits, one each, and a third stays', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { runId } = await start('twice');
      const signal = (n: number) =>
        (n % 2 ? one : two).signal({ namespace: NAMESPACE, runId, name: 'paid', payload: `${n}`, signalId: `s${n}` });
      await Promise.all([1, 2].map(signal));
      const { run, tasks } = await two.getRun(NAMESPACE, runId, true);
      expect(run.status).toBe('SUCCEEDED');
      expect(tasks.map(({ output }) => output).sort()).toEqual(['1', '2']);
    }
  });
});
