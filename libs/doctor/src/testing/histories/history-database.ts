import { randomUUID } from 'node:crypto';
import { createDatabase, type TestDatabase } from '@baton/testkit';
import { Client, type QueryResultRow } from 'pg';

export const NAMESPACE = 'default';

/**
 * A database whose time stands still until it is moved: everything of one round has one instant, so that what happened
 * at once there can happen one by one elsewhere and leave the same instants too.
 */
export class HistoryDatabase {
  private atMs = 0;

  private constructor(
    private readonly database: TestDatabase,
    private readonly client: Client,
  ) {}

  /** `logged`: keeps the order in which rows of runs and leases were written, by triggers, under their row locks. */
  static async open(atMs: number, options: { readonly logged: boolean }): Promise<HistoryDatabase> {
    const database = await createDatabase({ major: 18 });
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const opened = new HistoryDatabase(database, client);
    await client.query(CLOCK);
    if (options.logged) await client.query(LOG);
    await opened.moveTo(atMs);
    return opened;
  }

  get url(): string {
    return this.database.url;
  }

  get connection(): Client {
    return this.client;
  }

  get nowMs(): number {
    return this.atMs;
  }

  async moveTo(atMs: number): Promise<void> {
    if (atMs === this.atMs) return;
    this.atMs = atMs;
    await this.client.query('UPDATE public.history_clock SET at = to_timestamp($1::numeric / 1000)', [atMs]);
  }

  async query<Row extends QueryResultRow>(sql: string, values: unknown[] = []): Promise<readonly Row[]> {
    return (await this.client.query<Row>(sql, values)).rows;
  }

  async publish(text: string, deployed: boolean): Promise<void> {
    const { id, version } = JSON.parse(text) as { id: string; version: number };
    await this.client.query(
      `INSERT INTO baton.workflow_definitions (namespace, id, version, spec, content_hash) VALUES ($1, $2, $3, $4, $5)`,
      [NAMESPACE, id, version, text, randomUUID()],
    );
    if (!deployed) return;
    await this.client.query(
      `INSERT INTO baton.deployed_definitions (namespace, id, version) VALUES ($1, $2, $3)
       ON CONFLICT (namespace, id) DO UPDATE SET version = excluded.version`,
      [NAMESPACE, id, version],
    );
  }

  async close(): Promise<void> {
    await this.client.end();
    await this.database.drop();
  }
}

const CLOCK = `
  CREATE TABLE public.history_clock (one integer PRIMARY KEY, at timestamptz NOT NULL);
  INSERT INTO public.history_clock VALUES (1, 'epoch');
  CREATE OR REPLACE FUNCTION baton.now() RETURNS timestamptz
  LANGUAGE sql VOLATILE PARALLEL SAFE AS $$ SELECT at FROM public.history_clock WHERE one = 1 $$;
`;

// The run's row stands for the whole write: triggers fire when the statement has all its locks. A lease is written
// without the run's lock (R9), but under the lock of the task's row, which the write needs as well.
const LOG = `
  CREATE TABLE public.history_log (
    seq bigserial PRIMARY KEY, at timestamptz NOT NULL, run_id uuid NOT NULL, what text NOT NULL, version bigint,
    call text, lease_id uuid
  );
  CREATE FUNCTION public.log_run() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO public.history_log (at, run_id, what, version)
    VALUES (baton.now(), NEW.run_id,
      CASE WHEN TG_OP = 'UPDATE' AND OLD.version = NEW.version THEN 'flag' ELSE 'write' END, NEW.version);
    RETURN NULL;
  END $$;
  CREATE FUNCTION public.log_task() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF OLD.lease_id IS NULL AND NEW.lease_id IS NOT NULL THEN
      INSERT INTO public.history_log (at, run_id, what, call, lease_id)
      VALUES (baton.now(), NEW.run_id, 'acquire', NEW.lease_call, NEW.lease_id);
    ELSIF OLD.lease_id = NEW.lease_id AND OLD.progress IS DISTINCT FROM NEW.progress THEN
      INSERT INTO public.history_log (at, run_id, what, call, lease_id)
      VALUES (baton.now(), NEW.run_id, 'heartbeat', NEW.progress, NEW.lease_id);
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER log_run AFTER INSERT OR UPDATE ON baton.workflow_runs FOR EACH ROW EXECUTE FUNCTION public.log_run();
  CREATE TRIGGER log_task AFTER UPDATE ON baton.task_instances FOR EACH ROW EXECUTE FUNCTION public.log_task();
`;
