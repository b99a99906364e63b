import { internalV1 } from '@baton/contracts';
import { type RunningService, startService } from '@baton/platform';
import { createDatabase, eventually, moveClock, type TestDatabase } from '@baton/testkit';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { Client } from 'pg';
import { v7 } from 'uuid';
import { timerService } from './service.js';

const FIRED = internalV1.FireOutcome.FIRE_OUTCOME_APPLIED;
const FAILED = internalV1.FireOutcome.FIRE_OUTCOME_FAILED;

type Answer = (items: readonly internalV1.DueItem[]) => Promise<readonly internalV1.FireOutcome[]>;

/** InternalService with what a test wants it to do; counts calls that overlap. */
class FakeCoordinator {
  readonly batches: (readonly string[])[] = [];
  mostAtOnce = 0;
  answer: Answer = async (items) => items.map(() => FIRED);
  private running = 0;
  private readonly server = new Server();
  port = 0;

  async open(port = 0): Promise<void> {
    this.server.addService(internalV1.InternalServiceService, {
      fireDue: (
        call: { request: internalV1.FireDueRequest },
        callback: (e: null, r: internalV1.FireDueResponse) => void,
      ) => void this.fire(call.request.items).then((results) => callback(null, { results })),
    } as never);
    this.port = await new Promise((resolve, reject) =>
      this.server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
  }

  get fired(): readonly string[] {
    return this.batches.flat();
  }

  close(): void {
    this.server.forceShutdown();
  }

  private async fire(items: readonly internalV1.DueItem[]): Promise<internalV1.FireResult[]> {
    this.running += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running);
    this.batches.push(items.map(({ due }) => (due?.$case === 'timer' ? due.value.timerId : (due?.value.taskId ?? ''))));
    try {
      return (await this.answer(items)).map((outcome) => ({ outcome, reason: outcome === FAILED ? 'test' : '' }));
    } finally {
      this.running -= 1;
    }
  }
}

describe('the timer service', () => {
  let database: TestDatabase;
  let sql: Client;
  let coordinator: FakeCoordinator;
  const services: RunningService[] = [];

  beforeEach(async () => {
    database = await createDatabase();
    sql = new Client({ connectionString: database.url });
    await sql.connect();
    coordinator = new FakeCoordinator();
    await coordinator.open();
    coordinator.answer = async (items) => {
      await consume(items);
      return items.map(() => FIRED);
    };
  });

  afterEach(async () => {
    for (const service of services.splice(0)) await service.stop();
    coordinator.close();
    await sql.end();
    await database.drop();
  });

  async function start(port = coordinator.port): Promise<RunningService> {
    const service = await startService(timerService, {
      BATON_DATABASE_URL: database.url,
      BATON_INTERNAL_URL: `127.0.0.1:${port}`,
      BATON_ADMIN_PORT: '0',
      BATON_LOG_LEVEL: 'silent',
      BATON_TIMER_LEASE_MS: '1000',
      BATON_TIMER_POLL_MS: '100',
    });
    services.push(service);
    return service;
  }

  async function addTimer(after: string, id: string = v7()): Promise<string> {
    await sql.query(
      `INSERT INTO baton.timers (timer_id, run_id, namespace, kind, generation, due_at)
       VALUES ($1, $2, 'default', 'run-deadline', 1, baton.now() + $3::interval)`,
      [id, v7(), after],
    );
    return id;
  }

  async function addTask(after: string): Promise<string> {
    const id = v7();
    await sql.query(
      `INSERT INTO baton.task_instances (run_id, task_id, namespace, node_id, kind, generation, status, attempt, route,
         created_at, wake_at) VALUES ($1, $2, 'default', 'a', 'forward', 1, 'SCHEDULED', 1, 'kafka', baton.now(),
         baton.now() + $3::interval)`,
      [v7(), id, after],
    );
    return id;
  }

  /** What a coordinator does with rows that are due. */
  async function consume(items: readonly internalV1.DueItem[]): Promise<void> {
    const ids = items.map(({ due }) => (due?.$case === 'timer' ? due.value.timerId : (due?.value.taskId ?? '')));
    await sql.query('DELETE FROM baton.timers WHERE timer_id = ANY($1)', [ids]);
    await sql.query(`UPDATE baton.task_instances SET status = 'FAILED', wake_at = NULL WHERE task_id = ANY($1)`, [ids]);
  }

  const fired = (ids: readonly string[]) => async () => ids.every((id) => coordinator.fired.includes(id));

  async function metric(service: RunningService, name: string): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${service.adminPort}/metrics`)).text();
    const line = text.split('\n').find((entry) => entry.startsWith(`${name}{`) || entry.startsWith(`${name} `));
    return Number(line?.slice(line.lastIndexOf(' ') + 1));
  }

  it('fires timers and wake-ups of tasks that are due, never early', async () => {
    let early = 0;
    coordinator.answer = async (items) => {
      const ids = items.flatMap(({ due }) => (due?.$case === 'timer' ? [due.value.timerId] : []));
      const { rows } = await sql.query('SELECT FROM baton.timers WHERE timer_id = ANY($1) AND due_at > baton.now()', [
        ids,
      ]);
      early += rows.length;
      await consume(items);
      return items.map(() => FIRED);
    };
    const ids = [
      await addTimer('-1 hour'),
      await addTimer('300 ms'),
      await addTimer('700 ms'),
      await addTask('200 ms'),
    ];
    const later = await addTimer('1 hour');
    await start();
    await eventually(fired(ids), { what: 'four rows to be fired' });
    expect(early).toBe(0);
    expect(coordinator.fired).not.toContain(later);
    expect(new Set(coordinator.fired).size).toBe(coordinator.fired.length);
  });

  it('R27: goes by the clock of the database, not by its own (B29, B63)', async () => {
    const id = await addTimer('30 days');
    const service = await start();
    await eventually(async () => (await metric(service, 'baton_timer_active')) === 1, { what: 'the role' });
    expect(coordinator.fired).toEqual([]);
    await moveClock(database.url, '31 days');
    await eventually(fired([id]), { what: 'the timer to be fired after the clock moved' });
  });

  it('sees a nearer timer that appears while it sleeps', async () => {
    await addTimer('1 day');
    await start();
    const near = await addTimer('50 ms');
    await eventually(fired([near]), { what: 'the nearer timer' });
  });

  it('R22: hands over at most 200 at once, one batch after the other, oldest first', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 450; n += 1) ids.push(await addTimer(`-${1000 - n} seconds`));
    await start();
    await eventually(fired(ids), { what: 'all rows' });
    expect(coordinator.mostAtOnce).toBe(1);
    expect(Math.max(...coordinator.batches.map((batch) => batch.length))).toBe(200);
    expect(coordinator.fired.slice(0, 450)).toEqual(ids);
  });

  it('R21: is not held up by a row that fails', async () => {
    const bad = await addTimer('-1 hour');
    coordinator.answer = async (items) => {
      const isBad = (item: internalV1.DueItem) => item.due?.$case === 'timer' && item.due.value.timerId === bad;
      await consume(items.filter((item) => !isBad(item)));
      return items.map((item) => (isBad(item) ? FAILED : FIRED));
    };
    const good = [await addTimer('-1 second'), await addTimer('100 ms'), await addTask('150 ms')];
    await start();
    await eventually(fired(good), { what: 'the rows beside the bad one' });
    await eventually(async () => coordinator.fired.filter((id) => id === bad).length > 2, { what: 'more tries' });
  });

  it('keeps trying while no coordinator is there, says so, and fires when one comes', async () => {
    const port = coordinator.port;
    coordinator.close();
    const id = await addTimer('-1 second');
    const service = await start(port);
    const response = await fetch(`http://127.0.0.1:${service.adminPort}/readyz`);
    expect(response.status).toBe(503);
    expect(JSON.stringify(await response.json())).toContain(`no connection to 127.0.0.1:${port}`);
    const answer = coordinator.answer;
    coordinator = new FakeCoordinator();
    coordinator.answer = answer;
    await coordinator.open(port);
    await eventually(fired([id]), { what: 'the timer to be fired' });
    await eventually(async () => (await fetch(`http://127.0.0.1:${service.adminPort}/readyz`)).status === 200, {
      what: 'readiness',
    });
  });

  it('goes on when its database connections are cut (B116)', async () => {
    const service = await start();
    await eventually(async () => (await metric(service, 'baton_timer_active')) === 1, { what: 'the role' });
    for (let round = 0; round < 3; round += 1) {
      await sql.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name LIKE 'baton timer-service%'`,
      );
      const id = await addTimer('-1 second');
      await eventually(fired([id]), { what: 'a timer after the cut' });
    }
  });

  it('R22: has one active process; a standby takes over when it stops', async () => {
    const first = await start();
    await eventually(async () => (await metric(first, 'baton_timer_active')) === 1, { what: 'the first to be active' });
    const second = await start();
    await eventually(async () => (await metric(second, 'baton_timer_active')) === 0, {
      what: 'the second to stand by',
    });
    const before = await addTimer('-1 second');
    await eventually(fired([before]), { what: 'a timer under the first' });
    expect(await first.stop()).toBe(true);
    services.splice(0, 1);
    const after = await addTimer('-1 second');
    await eventually(fired([after]), { what: 'a timer under the second' });
    expect(await metric(second, 'baton_timer_active')).toBe(1);
    const { rows } = await sql.query(`SELECT epoch::int AS epoch FROM baton.service_leases WHERE role = 'timers'`);
    expect(rows).toEqual([{ epoch: 2 }]);
  });

  it('R22: takes over from an owner that went silent when its lease is over', async () => {
    await sql.query(
      `INSERT INTO baton.service_leases (role, owner, expires_at) VALUES ('timers', 'dead', baton.now() + interval '1 second')`,
    );
    const id = await addTimer('-1 second');
    await start();
    await eventually(fired([id]), { what: 'the timer' });
    const { rows } = await sql.query(`SELECT epoch::int AS epoch FROM baton.service_leases WHERE role = 'timers'`);
    expect(rows).toEqual([{ epoch: 2 }]);
  });

  it('answers the batch in flight before it stops (B122)', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    coordinator.answer = async (items) => {
      await held;
      await consume(items);
      return items.map(() => FIRED);
    };
    await addTimer('-1 second');
    const service = await start();
    await eventually(async () => coordinator.batches.length === 1, { what: 'a batch in flight' });
    const stopped = service.stop();
    release();
    expect(await stopped).toBe(true);
    services.splice(0);
    expect(coordinator.batches).toHaveLength(1);
  });

  it('R24: purges keys whose time is over, and no others', async () => {
    await sql.query(
      `INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at, expires_at)
       SELECT 'default', 'run-id', n::text, gen_random_uuid(), '', baton.now(),
         CASE WHEN n > 2500 THEN NULL WHEN n > 2400 THEN baton.now() + interval '1 hour'
           ELSE baton.now() - interval '1 second' END
       FROM generate_series(1, 2600) n`,
    );
    await start();
    const left = async (): Promise<{ n: number; first: number } | undefined> =>
      (
        await sql.query<{ n: number; first: number }>(
          'SELECT count(*)::int AS n, min(key::int) AS first FROM baton.run_keys',
        )
      ).rows[0];
    await eventually(async () => (await left())?.n === 200, { what: 'the expired keys to be gone' });
    expect(await left()).toEqual({ n: 200, first: 2401 });
  });

  it('makes partitions for the days to come (R25)', async () => {
    await moveClock(database.url, '200 days');
    await start();
    await eventually(
      async () => {
        const { rows } = await sql.query(
          `SELECT to_regclass('baton.outbox_' || to_char(baton.now() AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NOT NULL AS made`,
        );
        return rows[0].made === true;
      },
      { what: 'the partition of today' },
    );
  });
});
