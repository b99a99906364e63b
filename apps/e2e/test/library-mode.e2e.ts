import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning, projectFolder, type ProcessIdentity } from '@baton/local-stack';
import { eventually } from '@baton/testkit';

const CLI = join(projectFolder(), 'apps', 'cli', 'dist', 'main.js');

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface RecordedState {
  readonly addresses: { readonly embeddedSaga: string; readonly databaseUrl: string };
  readonly processes: readonly { readonly name: string; readonly identity: ProcessIdentity }[];
}

/** "./baton up" on a machine without Java: sagas embedded in one service, on PostgreSQL alone. */
describe('a development platform in library mode', () => {
  let home: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'baton-library-home-'));
  });
  afterAll(async () => {
    await baton('down');
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  });

  async function baton(...args: readonly string[]): Promise<Outcome> {
    const { NODE_OPTIONS: _jestOnly, ...inherited } = process.env;
    // A folder without a Java in it.
    const child = spawn(process.execPath, [CLI, ...args], { env: { ...inherited, BATON_HOME: home, JAVA_HOME: home } });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, out, err };
  }

  const state = (): RecordedState => JSON.parse(readFileSync(join(home, 'state.json'), 'utf8')) as RecordedState;

  it('is taken by itself where no Java is found, and shows three orders', async () => {
    const { code, out } = await baton('up', '--detach');
    expect(out).toMatch(/No Java runtime, so no Kafka: starting sagas embedded in one service, on PostgreSQL alone/);
    expect(out.match(/ok {3}/g)).toHaveLength(3);
    expect(out).toMatch(/Orders \(HTTP\) +http:\/\/127\.0\.0\.1:\d+\/orders/);
    expect(code).toBe(0);
    expect(state().processes.map(({ name }) => name)).toEqual(['postgres', 'embedded-saga']);
  });

  it('is ready, runs the demo again, and refuses to come up twice', async () => {
    expect((await baton('status')).code).toBe(0);
    const { code, out } = await baton('demo', '-o', 'json');
    expect(code).toBe(0);
    expect((JSON.parse(out) as { status: string }[]).map(({ status }) => status)).toEqual([
      'succeeded',
      'compensated',
      'succeeded',
    ]);
    expect(await baton('up', '--library')).toMatchObject({ code: 1, err: expect.stringMatching(/already up here/) });
  });

  it('is looked into by its database, and the doctor finds nothing', async () => {
    const { out } = await baton('saga', 'list', '-o', 'json');
    const { runs } = JSON.parse(out) as { runs: { runId: string; status: string }[] };
    expect(runs).toHaveLength(6);
    const undone = runs.find(({ status }) => status === 'compensated');
    const shown = await baton('saga', 'show', undone?.runId ?? '', '--history');
    expect(shown.out).toMatch(/PAYMENT_DECLINED/);
    expect(shown.out).toMatch(/node\.compensated +reserve +undo/);
    expect(await baton('saga', 'doctor')).toMatchObject({ code: 0, out: expect.stringMatching(/Nothing found/) });
  });

  it('starts the service again when it is killed, and its sagas go on', async () => {
    const { addresses, processes } = state();
    const before = processes.find(({ name }) => name === 'embedded-saga')?.identity;
    if (before === undefined) throw new Error('the service is not recorded');
    process.kill(before.pid, 'SIGKILL');
    const order = await eventually(() => placeOrder(addresses.embeddedSaga), { timeoutMs: 60_000 });
    await eventually(async () => (await orderOf(addresses.embeddedSaga, order.orderId)).status === 'succeeded', {
      timeoutMs: 60_000,
    });
    expect(state().processes.find(({ name }) => name === 'embedded-saga')?.identity.pid).not.toBe(before.pid);
  });

  it('stops everything', async () => {
    const { processes } = state();
    expect((await baton('down')).code).toBe(0);
    expect(processes.some(({ identity }) => isRunning(identity))).toBe(false);
  });
});

interface OrderAnswer {
  readonly orderId: string;
  readonly status: string;
}

async function placeOrder(url: string): Promise<OrderAnswer> {
  const body = JSON.stringify({ customer: 'ada@example.com', items: [{ sku: 'lamp', quantity: 1, price: 1 }] });
  const headers = { 'content-type': 'application/json' };
  return (await (await fetch(`${url}/orders`, { method: 'POST', headers, body })).json()) as OrderAnswer;
}

async function orderOf(url: string, orderId: string): Promise<OrderAnswer> {
  return (await (await fetch(`${url}/orders/${orderId}`)).json()) as OrderAnswer;
}
