import { credentials, Metadata } from '@grpc/grpc-js';
import { internalV1, runV1, workerV1 } from '@baton/contracts';
import { startService, type RunningService } from '@baton/platform';
import { createDatabase, type TestDatabase } from '@baton/testkit';
import { ApiError, bearer, fromGrpcError } from '@baton/wire';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { coordinator } from '../service.js';

export const KEYS = {
  worker: 'bk_worker_0123456789abcdef',
  client: 'bk_client_0123456789abcdef',
  admin: 'bk_admin_0123456789abcdef',
  stranger: 'bk_stranger_0123456789abcdef',
} as const;
export type KeyName = keyof typeof KEYS;

type Method = Exclude<string, symbol>;

/** A coordinator in this process over a database of its own, and clients with every kind of key. */
export class CoordinatorUnderTest {
  readonly workers: workerV1.WorkerServiceClient;
  readonly runs: runV1.RunServiceClient;
  readonly internal: internalV1.InternalServiceClient;

  private constructor(
    readonly database: TestDatabase,
    readonly service: RunningService,
    private readonly keysFolder: string,
  ) {
    const address = `127.0.0.1:${service.ports['public']}`;
    const insecure = credentials.createInsecure();
    this.workers = new workerV1.WorkerServiceClient(address, insecure, { 'grpc.max_send_message_length': -1 });
    this.runs = new runV1.RunServiceClient(address, insecure);
    this.internal = new internalV1.InternalServiceClient(`127.0.0.1:${service.ports['internal']}`, insecure);
  }

  /** `route`: how the coordinator reaches its database, when not directly. */
  static async start(
    route: (url: string) => Promise<string> = (url) => Promise.resolve(url),
  ): Promise<CoordinatorUnderTest> {
    const database = await createDatabase();
    const folder = mkdtempSync(join(tmpdir(), 'baton-keys-'));
    const file = join(folder, 'keys.json');
    writeFileSync(file, JSON.stringify(Object.entries(KEYS).map(keyEntry)));
    const service = await startService(coordinator, {
      BATON_DATABASE_URL: await route(database.url),
      BATON_GRPC_PORT: '0',
      BATON_INTERNAL_PORT: '0',
      BATON_ADMIN_PORT: '0',
      BATON_LOG_LEVEL: 'fatal',
      BATON_AUTH: 'api-key',
      BATON_API_KEYS_FILE: file,
    });
    return new CoordinatorUnderTest(database, service, folder);
  }

  async stop(): Promise<boolean> {
    const clean = await this.service.stop();
    for (const client of [this.workers, this.runs, this.internal]) client.close();
    await this.database.drop();
    rmSync(this.keysFolder, { recursive: true, force: true });
    return clean;
  }

  async sql(text: string, values: unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.database.url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  async publish(definition: { readonly id: string; readonly version: number }, namespace = 'default'): Promise<void> {
    const { id, version } = definition;
    const spec = JSON.stringify(definition);
    await this.sql(
      `INSERT INTO baton.workflow_definitions (namespace, id, version, spec, content_hash) VALUES ($1, $2, $3, $4, 'x')`,
      [namespace, id, version, spec],
    );
    await this.sql(`INSERT INTO baton.deployed_definitions (namespace, id, version) VALUES ($1, $2, $3)`, [
      namespace,
      id,
      version,
    ]);
  }

  acquire = (fields: Partial<workerV1.AcquireTaskLeaseRequest>, key: KeyName = 'worker') =>
    call<workerV1.AcquireTaskLeaseResponse>(
      this.workers,
      'acquireTaskLease',
      workerV1.AcquireTaskLeaseRequest.fromPartial(fields),
      key,
    );

  heartbeat = (fields: Partial<workerV1.HeartbeatRequest>, key: KeyName = 'worker') =>
    call<workerV1.HeartbeatResponse>(this.workers, 'heartbeat', workerV1.HeartbeatRequest.fromPartial(fields), key);

  report = (fields: Partial<workerV1.ReportTaskResultRequest>, key: KeyName = 'worker') =>
    call<workerV1.ReportTaskResultResponse>(
      this.workers,
      'reportTaskResult',
      workerV1.ReportTaskResultRequest.fromPartial(fields),
      key,
    );

  startRun = (fields: Partial<runV1.StartRunRequest>, key: KeyName = 'client') =>
    call<runV1.StartRunResponse>(this.runs, 'startRun', runV1.StartRunRequest.fromPartial(fields), key);

  getRun = (runId: string, key: KeyName = 'client') =>
    call<runV1.GetRunResponse>(this.runs, 'getRun', { runId, includePayloads: true }, key);

  /** Starts a run and gives its first task as a worker would name it. */
  async startedTask(
    definitionId: string,
    input: unknown = null,
  ): Promise<{ runId: string; taskId: string; nodeId: string }> {
    const { runId } = await this.startRun({ definitionId, input: JSON.stringify(input) });
    const task = (await this.getRun(runId)).tasks[0];
    if (task === undefined) throw new Error('the run has no task');
    return { runId, taskId: task.taskId, nodeId: task.nodeId };
  }
}

function keyEntry([id, key]: [string, string]) {
  return {
    id,
    sha256: createHash('sha256').update(key).digest('hex'),
    namespace: id === 'stranger' ? 'elsewhere' : 'default',
    role: id === 'stranger' ? 'admin' : id,
  };
}

export function call<Response>(
  client: object,
  method: Method,
  request: object,
  key: KeyName | undefined,
): Promise<Response> {
  const metadata = new Metadata();
  if (key !== undefined) metadata.set('authorization', bearer(KEYS[key]));
  const unary = (client as Record<string, (...args: unknown[]) => void>)[method];
  if (unary === undefined) throw new Error(`no method ${method}`);
  return new Promise((resolve, reject) => {
    unary.call(client, request, metadata, (error: Error | null, response: Response) =>
      error === null ? resolve(response) : reject(fromGrpcError(error)),
    );
  });
}

export async function refusal(promise: Promise<unknown>): Promise<ApiError> {
  const answer = await promise.then(
    (value) => value,
    (error: unknown) => error,
  );
  if (answer instanceof ApiError) return answer;
  throw new Error(`the call was not refused: ${JSON.stringify(answer, (_key, value: unknown) => String(value))}`);
}
