import type { EngineApi, EngineError, SignalResult } from '@baton/engine';
import { diamond, single } from '@baton/engine/testing';
import { eventually } from '@baton/testkit';
import { engineOn, publish, type EngineOnPostgres } from './testing/engine-on-postgres.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE } from './testing/writes.js';

const CAP = 1_000;

describe('signals on PostgreSQL', () => {
  let fixture: StoreFixture;
  let engines: EngineOnPostgres[];
  let one: EngineApi;
  let two: EngineApi;

  beforeAll(async () => {
    fixture = await storeFixture();
    for (const text of [diamond, single]) await publish(fixture, text);
    engines = [engineOn(fixture.url), engineOn(fixture.url)];
    [one, two] = [engines[0]!.engine, engines[1]!.engine];
  });
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    await fixture.close();
  });
  afterEach(() => fixture.moveClock('0 seconds'));

  const start = async (definitionId: string): Promise<string> =>
    (await one.start({ namespace: NAMESPACE, definitionId, input: null })).runId;

  const signal = (engine: EngineApi, runId: string, signalId: string): Promise<SignalResult | string> =>
    engine
      .signal({ namespace: NAMESPACE, runId, name: 'paid', payload: '1', signalId })
      .catch((error: EngineError) => error.code);

  const rowsOf = async (runId: string) =>
    (
      await fixture.query<{ id: string }>(
        'SELECT signal_id AS id FROM baton.signals WHERE run_id = $1 ORDER BY seq, signal_id',
        [runId],
      )
    ).map(({ id }) => id);

  /** Counter of the run, and what it counts. */
  const countsOf = async (runId: string) =>
    (
      await fixture.query(
        `SELECT r.buffered_signals AS counted,
         (SELECT count(*)::int FROM baton.signals s WHERE s.run_id = r.run_id AND s.status = 'BUFFERED') AS buffered
       FROM baton.workflow_runs r WHERE r.run_id = $1`,
        [runId],
      )
    )[0];

  /** Signals that nothing took, as earlier batches would have left them. */
  async function plant(runId: string, prefix: string, count: number, expires: string | null): Promise<void> {
    await fixture.query(
      `INSERT INTO baton.signals (run_id, signal_id, namespace, name, payload, payload_hash, status, seq, received_at,
         expires_at) SELECT $1, $2 || n, $3, 'paid', '1', 'h', 'BUFFERED', n, baton.now(), baton.now() + $5::interval
       FROM generate_series(1, $4::int) n`,
      [runId, prefix, NAMESPACE, count, expires],
    );
    await fixture.query(
      'UPDATE baton.workflow_runs SET buffered_signals = buffered_signals + $2, version = version + 1 WHERE run_id = $1',
      [runId, count],
    );
  }

  it('R32: an ended run knows its signals again, and takes no other', async () => {
    const runId = await start('single');
    expect(await signal(one, runId, 's1')).toEqual({ delivered: false, duplicate: false });
    await two.cancel({ namespace: NAMESPACE, runId, requestId: 'stop', reason: 'asked' });
    for (const engine of [one, two]) {
      expect(await signal(engine, runId, 's1')).toEqual({ delivered: false, duplicate: true });
      expect(await signal(engine, runId, 's2')).toBe('RUN_TERMINAL');
    }
    expect(await rowsOf(runId)).toEqual(['s1']);
  });

  it('R32: a signal decided while the run still ran, and written after its end, is refused and leaves no row', async () => {
    const runId = await start('single');
    await signal(one, runId, 's1'); // the first engine has the run in its cache, RUNNING
    const gate = await fixture.connect();
    await gate.query('BEGIN');
    await gate.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1 FOR UPDATE', [runId]);
    // It skips the locked run twice, then waits for its lock, behind the gate.
    const late = signal(one, runId, 's2');
    await eventually(
      async () =>
        (
          await fixture.query(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'baton'
               AND wait_event_type = 'Lock'`,
          )
        ).length > 0,
      { what: 'the signal to wait' },
    );
    await gate.query(
      `UPDATE baton.workflow_runs SET status = 'CANCELLED', cause = 'cancel', ended_at = baton.now(),
         version = version + 1 WHERE run_id = $1`,
      [runId],
    );
    await gate.query(`UPDATE baton.task_instances SET status = 'CANCELLED', wake_at = NULL WHERE run_id = $1`, [runId]);
    await gate.query('COMMIT');
    expect(await late).toBe('RUN_TERMINAL');
    expect(await rowsOf(runId)).toEqual(['s1']);
  });

  it('R32: a run holds a thousand signals, for two engines together', async () => {
    const runId = await start('single');
    await plant(runId, 'old', CAP - 1, null);
    const answers = await Promise.all([signal(one, runId, 'a'), signal(two, runId, 'b')]);
    expect(answers.filter((answer) => answer === 'TOO_MANY_SIGNALS')).toHaveLength(1);
    expect(await countsOf(runId)).toEqual({ counted: CAP, buffered: CAP });
    const known = typeof answers[0] === 'string' ? 'b' : 'a';
    expect(await signal(two, runId, known)).toEqual({ delivered: false, duplicate: true });
  });

  it('R32: expired signals make room within one batch too, and stay known', async () => {
    const runId = await start('single');
    await plant(runId, 'kept', CAP - 2, null);
    await plant(runId, 'gone', 2, '1 minute');
    expect(await signal(one, runId, 'early')).toBe('TOO_MANY_SIGNALS');
    await fixture.moveClock('2 minutes');
    const answers = await Promise.all(['a', 'b', 'c'].map((id) => signal(one, runId, id)));
    expect(answers.map((answer) => (typeof answer === 'string' ? answer : 'kept'))).toEqual([
      'kept',
      'kept',
      'TOO_MANY_SIGNALS',
    ]);
    expect(await countsOf(runId)).toEqual({ counted: CAP, buffered: CAP });
    // Its payload is another one than the planted hash says: known, and told apart.
    expect(await signal(two, runId, 'gone1')).toBe('SIGNAL_CONFLICT');
    expect(await rowsOf(runId)).toHaveLength(CAP + 2);
  });
});
