import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isRunning, projectFolder, type ProcessIdentity } from '@baton/local-stack';

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface DemoResult {
  readonly name: string;
  readonly runId: string;
  readonly status: string;
  readonly expected: string;
  readonly ok: boolean;
}

interface RecordedState {
  readonly supervisor: ProcessIdentity;
  readonly addresses: { readonly gateway: string };
  readonly processes: readonly { readonly name: string; readonly identity: ProcessIdentity }[];
}

const CLI = join(projectFolder(), 'apps', 'cli', 'dist', 'main.js');

/** What "./baton up", "demo", "status" and "down" promise, with a folder of their own (BATON_HOME). */
describe('the development platform', () => {
  let home: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'baton-home-'));
  });
  afterAll(async () => {
    await baton('down');
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  });

  function baton(...args: readonly string[]): Promise<Outcome> {
    return batonWith({}, ...args);
  }

  async function batonWith(extra: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<Outcome> {
    const { NODE_OPTIONS: _jestOnly, ...inherited } = process.env;
    const env = { ...inherited, BATON_HOME: home, ...extra };
    const child = spawn(process.execPath, [CLI, ...args], { env });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, out, err };
  }

  const state = (): RecordedState => JSON.parse(readFileSync(join(home, 'state.json'), 'utf8')) as RecordedState;

  it('says that nothing is up', async () => {
    expect(await baton('status', '-o', 'json')).toMatchObject({ code: 3, out: '{"up":false}\n' });
    expect(await baton('down')).toMatchObject({ code: 0, out: 'Nothing is up.\n' });
  });

  it('says in one line what to do when the Java is too old (where there is none: library-mode.e2e.ts)', async () => {
    const java = join(home, 'old-java', 'bin', 'java');
    mkdirSync(dirname(java), { recursive: true });
    writeFileSync(java, `#!/bin/sh\necho 'openjdk version "11.0.2"' >&2\n`, { mode: 0o755 });
    const { code, out, err } = await batonWith({ JAVA_HOME: join(home, 'old-java') }, 'up');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^baton: Kafka needs Java 17 or newer and .* is 11\.0\.2: .*, or set BATON_KAFKA_BROKERS.*\n$/);
  });

  it('comes up over half-initialised data folders and beside a foreign process on its port', async () => {
    const postgresData = join(home, 'data', 'postgres');
    mkdirSync(postgresData, { recursive: true });
    writeFileSync(join(postgresData, 'PG_VERSION'), '18\n');
    writeFileSync(join(home, 'up.lock'), '');
    const foreign = await occupy(8080);
    const { code, out } = await baton('up', '--detach');
    expect(out).toMatch(/half initialised: moved to/);
    expect(out.match(/ok {3}/g)).toHaveLength(3);
    expect(code).toBe(0);
    const aside = readdirSync(join(home, 'data')).find((name) => name.startsWith('postgres.half-initialised-'));
    expect(existsSync(join(home, 'data', aside ?? '', 'PG_VERSION'))).toBe(true);
    if (foreign !== undefined) {
      expect(out).toMatch(/Port 8080 is taken by .*: the gateway uses \d+ instead\./);
      expect(await (await fetch('http://127.0.0.1:8080')).text()).toBe('foreign');
      await new Promise((resolve) => foreign.close(resolve));
    }
  });

  it('shows every process and its readiness, and refuses to come up twice', async () => {
    const { code, out } = await baton('status', '-o', 'json');
    const { processes } = JSON.parse(out) as { processes: { name: string; running: boolean; ready: boolean | null }[] };
    expect(code).toBe(0);
    expect(processes).toHaveLength(8);
    expect(processes.every(({ running, ready }) => running && ready !== false)).toBe(true);
    expect(await baton('up')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^baton: Baton is already up here/),
    });
    expect((await baton('up', '--detach')).code).toBe(0);
  });

  it('runs the demo on the platform that is up', async () => {
    const { code, out } = await baton('demo', '-o', 'json');
    const results = JSON.parse(out) as readonly DemoResult[];
    expect(results.map(({ status, ok }) => [status, ok])).toEqual([
      ['SUCCEEDED', true],
      ['COMPENSATED', true],
      ['SUCCEEDED', true],
    ]);
    expect(code).toBe(0);
  });

  it('starts a killed service again', async () => {
    const before = state().processes.find(({ name }) => name === 'coordinator')?.identity;
    if (before === undefined) throw new Error('no coordinator is recorded');
    process.kill(before.pid, 'SIGKILL');
    for (;;) {
      const { out } = await baton('status', '-o', 'json');
      const { processes } = JSON.parse(out) as {
        processes: { name: string; pid: number; ready: boolean; restarts: number }[];
      };
      const coordinator = processes.find(({ name }) => name === 'coordinator');
      if (coordinator?.ready === true && coordinator.pid !== before.pid) break;
    }
    expect((await baton('demo')).code).toBe(0);
  });

  it('survives the SIGKILL of its supervisor: the next "up" ends what was left, and the runs are still listed', async () => {
    const listed = await runIds();
    expect(listed.length).toBeGreaterThanOrEqual(9);
    const { supervisor, processes } = state();
    process.kill(supervisor.pid, 'SIGKILL');
    const { code, out } = await baton('up', '--detach', '--no-demo');
    expect(code).toBe(0);
    expect(out).toMatch(/An earlier platform was killed and left processes running; ending .*postgres/);
    expect(processes.some(({ identity }) => isRunning(identity))).toBe(false);
    expect(await runIds()).toEqual(listed);
  });

  it('stops everything in less than 15 s', async () => {
    const { processes } = state();
    const started = performance.now();
    expect((await baton('down')).code).toBe(0);
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(processes.some(({ identity }) => isRunning(identity))).toBe(false);
  });

  async function runIds(): Promise<readonly string[]> {
    const { out } = await baton('run', 'list', '-o', 'json');
    return (JSON.parse(out) as { runs: { runId: string }[] }).runs.map(({ runId }) => runId);
  }
});

/** A foreign program on a port; undefined when somebody has it already, which is as good. */
function occupy(port: number): Promise<Server | undefined> {
  const server = createServer((_request, response) => response.setHeader('connection', 'close').end('foreign'));
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
