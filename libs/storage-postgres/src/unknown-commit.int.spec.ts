import { decide } from '@baton/core';
import type { EngineOptions, LockedSession, StartRun, Store } from '@baton/engine';
import { chain, diamond, single } from '@baton/engine/testing';
import { eventually, startFaultProxy, type ArmedFault, type FaultOptions, type FaultProxy } from '@baton/testkit';
import { completedReport, engineOn, openTasks, publish, type EngineOnPostgres } from './testing/engine-on-postgres.js';
import { waitingFor } from './testing/locks.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { STORY, Storyteller, tell } from './testing/stories.js';
import { NAMESPACE, newRunId } from './testing/writes.js';

const ROUNDS = 13;

describe('R6, B116: a connection that is lost around its COMMIT', () => {
  let fixture: StoreFixture;
  let proxy: FaultProxy;
  const decided = { cut: 0, twin: 0 };
  const heard: string[] = [];
  let cut: EngineOnPostgres;
  let twin: EngineOnPostgres;

  beforeAll(async () => {
    fixture = await storeFixture(18);
    for (const definition of [chain, diamond, single]) await publish(fixture, definition);
    proxy = await proxyOf(fixture);
    cut = engineOn(proxy.url(fixture.url), {
      ...counting('cut'),
      limits: { transientPauseMs: 1 },
      hooks: { onStoreError: ({ kind }) => heard.push(kind) },
    });
    twin = engineOn(fixture.url, counting('twin'));
  });

  afterAll(async () => {
    await Promise.all([cut.close(), twin.close()]);
    await proxy.close();
    await fixture.close();
  });

  beforeEach(() => {
    heard.length = decided.cut = decided.twin = 0;
  });

  function counting(who: 'cut' | 'twin'): Pick<EngineOptions, 'decide'> {
    return {
      decide: (...args) => {
        decided[who] += 1;
        return decide(...args);
      },
    };
  }

  /** Tells the story twice, and breaks each commit of the one engine. Answers how many were broken. */
  async function tellTwice(
    round: string,
    arm: (options: FaultOptions) => ArmedFault,
    read: (answer: unknown) => unknown = (answer) => answer,
  ): Promise<number> {
    const broken = new Storyteller(`broken ${round}`, cut.engine, fixture);
    const whole = new Storyteller(`whole ${round}`, twin.engine, fixture);
    let cuts = 0;
    for (const [n, step] of STORY.entries()) {
      const fault = arm({ reset: n % 2 === 0 });
      const answer = read(await tell(broken, step));
      expect([n, fault.happened, answer]).toEqual([n, 1, read(await tell(whole, step))]);
      cuts += fault.happened;
    }
    expect(await broken.rows()).toEqual(await whole.rows());
    return cuts;
  }

  it('R6: answers from the decision after 200 lost answers to COMMIT, and decides nothing twice', async () => {
    let cuts = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      cuts += await tellTwice(`after ${round}`, (options) => proxy.cutAfterCommit(options));
    }
    expect(cuts).toBeGreaterThanOrEqual(200);
    expect(heard).toEqual(Array.from({ length: cuts }, () => 'unknown-commit'));
    expect(decided.cut).toBe(decided.twin);
  }, 300_000);

  it('R6: decides again when the COMMIT itself was lost, with exactly one effect', async () => {
    let cuts = 0;
    for (let round = 0; round < 4; round += 1) {
      cuts += await tellTwice(`before ${round}`, (options) => proxy.cutBeforeCommit(options));
    }
    expect(cuts).toBe(4 * STORY.length);
    expect(heard).toEqual(Array.from({ length: cuts }, () => 'unknown-commit'));
  }, 300_000);

  /** A server that is slow to read has not begun when it is asked: then the second try finds its first done. */
  const acknowledged = (answer: unknown): unknown =>
    JSON.parse(
      JSON.stringify(answer)
        .replaceAll('"DUPLICATE"', '"APPLIED"')
        .replaceAll('"delivered":false,"duplicate":true', '"delivered":true,"duplicate":false')
        .replaceAll('"duplicate":true', '"duplicate":false'),
    );

  it('R6: has one effect when the server may still be committing while it is asked', async () => {
    let cuts = 0;
    for (let round = 0; round < 4; round += 1) {
      cuts += await tellTwice(`during ${round}`, (options) => proxy.cutDuringCommit(options), acknowledged);
    }
    expect(cuts).toBe(4 * STORY.length);
  }, 300_000);
});

/** Gates: each statement of the store first passes what the test has put in its way. */
class Gates {
  readonly before = new Map<keyof Store, () => Promise<void>>();
  /** Between the locks of a transaction and its write. */
  beforeWrite: (() => Promise<void>) | undefined;

  readonly around = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name: keyof Store) => {
        const member = target[name] as (...args: unknown[]) => Promise<unknown>;
        return async (...args: unknown[]) => {
          const gate = this.before.get(name);
          this.before.delete(name);
          await gate?.();
          if (name !== 'withLockedRuns') return member.apply(target, args);
          const [refs, work, options] = args as Parameters<Store['withLockedRuns']>;
          return target.withLockedRuns(refs, (session) => work(this.gated(session)), options);
        };
      },
    });

  private gated(session: LockedSession): LockedSession {
    const write: LockedSession['write'] = async (batch) => {
      await this.beforeWrite?.();
      return session.write(batch);
    };
    return { ...session, write };
  }
}

describe('R6: a commit that its client does not live to see', () => {
  let fixture: StoreFixture;
  let proxy: FaultProxy;
  let under: EngineOnPostgres;
  const gates = new Gates();

  beforeAll(async () => {
    fixture = await storeFixture(18);
    await publish(fixture, single);
    await fixture.query(SLOW_COMMIT);
    proxy = await proxyOf(fixture);
    under = engineOn(proxy.url(fixture.url), { limits: { transientPauseMs: 1 } }, gates.around);
  });

  afterAll(async () => {
    await under.close();
    await proxy.close();
    await fixture.close();
  });

  const start = (more: Partial<StartRun> = {}) =>
    under.engine.start({ namespace: NAMESPACE, definitionId: 'single', input: '1', ...more });

  const effects = async (type: string, runId: string): Promise<number> =>
    (await fixture.query('SELECT 1 FROM baton.outbox WHERE run_id = $1 AND type = $2', [runId, type])).length;

  async function runsBeside(runIds: readonly string[]): Promise<number> {
    return (await fixture.query('SELECT 1 FROM baton.workflow_runs WHERE run_id <> ALL ($1)', [runIds])).length;
  }

  /** Keeps every COMMIT that changed a run from ending; answers how to let them go. */
  async function holdCommits(): Promise<() => Promise<void>> {
    const holder = await fixture.connect();
    await holder.query('SELECT pg_advisory_lock(4711)');
    return async () => {
      await holder.query('SELECT pg_advisory_unlock(4711)');
    };
  }

  it.each([
    ['cut', () => Promise.resolve(proxy.cut())],
    ['ended by the server', () => fixture.query(END_TRANSACTIONS)],
  ])(
    'R5, B116: repeats a transaction whose connection is %s before its COMMIT, unheard by its caller',
    async (_how, lose) => {
      const { runId } = await start();
      let losses = 0;
      gates.beforeWrite = async () => {
        losses += 1;
        gates.beforeWrite = losses < 3 ? gates.beforeWrite : undefined;
        await lose();
      };
      const answer = await under.engine.cancel({ namespace: NAMESPACE, runId, requestId: 'stop', reason: 'asked' });
      expect([losses, answer]).toMatchObject([3, { status: 'CANCELLED', duplicate: false }]);
      expect(await effects('run.cancelled', runId)).toBe(1);
    },
  );

  it('R6: waits for the old backend while that is committing, and then answers from the decision', async () => {
    const { runId } = await start();
    const [task] = (await openTasks(fixture)).get(runId)!;
    const letGo = await holdCommits();
    proxy.cutDuringCommit();
    gates.before.set('committedRuns', () => waitingFor(fixture, 'commit to go on'));
    const answer = under.engine.report(completedReport(runId, task!));
    // The old backend at its COMMIT, and the new connection behind its row lock.
    await waitingFor(fixture, 'lock of the run', 2);
    await letGo();
    expect(await answer).toBe('APPLIED');
    expect(await effects('run.succeeded', runId)).toBe(1);
  });

  it.each([
    ['without a key', {}],
    ['with a key', { idempotencyKey: 'slow' }],
    ['with an id of its own', { runId: newRunId() }],
  ])('R6: waits for a start %s that is being committed, though its run cannot be seen yet', async (_what, more) => {
    const letGo = await holdCommits();
    proxy.cutDuringCommit();
    gates.before.set('committedRuns', () => waitingFor(fixture, 'commit to go on'));
    const answer = start(more);
    await waitingFor(fixture, 'key of the run', 2);
    await letGo();
    const { runId, created } = await answer;
    expect(created).toBe(true);
    expect(await effects('task.dispatched', runId)).toBe(1);
  });

  it.each([
    ['without a key', {}],
    ['with a key', { idempotencyKey: 'late' }],
  ])('R6: creates one run from a start %s whose lost write arrives after it was looked for', async (_what, more) => {
    const known = (await fixture.query<{ run_id: string }>('SELECT run_id FROM baton.workflow_runs')).map(
      (r) => r.run_id,
    );
    const fault = proxy.holdCommit();
    // Asked and not found; the second try is about to be written when the first arrives.
    gates.before.set('committedRuns', async () => {
      gates.before.set('writeStarts', async () => {
        fault.deliver();
        await eventually(async () => (await runsBeside(known)) === 1, { what: 'the late run' });
      });
    });
    const { runId, created } = await start(more);
    expect([created, fault.happened, await runsBeside(known)]).toEqual([true, 1, 1]);
    expect(await effects('task.dispatched', runId)).toBe(1);
    const [task] = (await openTasks(fixture)).get(runId)!;
    expect(await under.engine.report(completedReport(runId, task!))).toBe('APPLIED');
  });

  it('R6: drops a lost write that arrives when its events were decided again', async () => {
    const { runId } = await start();
    const [task] = (await openTasks(fixture)).get(runId)!;
    const fault = proxy.holdCommit();
    expect(await under.engine.report(completedReport(runId, task!))).toBe('APPLIED');
    const rows = async () =>
      fixture.query('SELECT version, journal_seq, outbox_seq FROM baton.workflow_runs WHERE run_id = $1', [runId]);
    const before = await rows();
    fault.deliver();
    await eventually(() => proxy.connections <= 1, { what: 'the late write to be over' });
    expect([await rows(), await effects('run.succeeded', runId)]).toEqual([before, 1]);
  });

  it('R6: takes a lost write that arrives before its events are decided again for done', async () => {
    const { runId } = await start();
    const [task] = (await openTasks(fixture)).get(runId)!;
    const fault = proxy.holdCommit();
    gates.before.set('committedRuns', async () => {
      gates.before.set('readRuns', async () => {
        fault.deliver();
        await eventually(async () => (await effects('run.succeeded', runId)) === 1, { what: 'the late write' });
      });
    });
    expect(await under.engine.report(completedReport(runId, task!))).toBe('DUPLICATE');
    expect(await effects('run.succeeded', runId)).toBe(1);
  });
});

async function proxyOf(fixture: StoreFixture): Promise<FaultProxy> {
  const { hostname, port } = new URL(fixture.url);
  return startFaultProxy({ target: { host: hostname, port: Number(port) } });
}

const END_TRANSACTIONS = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'baton' AND state = 'idle in transaction'`;

/** A COMMIT that takes as long as a test wants: at its very end it waits for a lock. */
const SLOW_COMMIT = `
  CREATE FUNCTION baton.hold_commit() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER hold_commit AFTER INSERT OR UPDATE ON baton.workflow_runs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION baton.hold_commit()`;
