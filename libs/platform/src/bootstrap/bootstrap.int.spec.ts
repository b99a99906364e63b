import { ProbeProcess } from '../testing/probe-process.js';

jest.setTimeout(60_000);

const env = { BATON_ADMIN_PORT: '0' };
const STARTED = '"msg":"started"';

describe('a service process', () => {
  it('exits 2 before anything starts when the configuration is wrong, and names every problem', async () => {
    const probe = new ProbeProcess('probe-service.ts', { PROBE_PORT: 'x', BATON_LOG_LEVEL: 'loud', PROBE: 'http' });
    expect(await probe.exited).toBe(2);
    expect(probe.output).toContain('PROBE_PORT: must be a whole number (got "x")');
    expect(probe.output).toContain('BATON_LOG_LEVEL: must be one of');
    expect(probe.output).not.toContain('"msg"');
  });

  it('exits 2 with BATON_AUTH=none in production when it answers callers', async () => {
    const probe = new ProbeProcess('probe-service.ts', { ...env, NODE_ENV: 'production', PROBE: 'http' });
    expect(await probe.exited).toBe(2);
    expect(probe.output).toContain('BATON_AUTH: none is for development');
  });

  it('exits 1 with the reason when it cannot be built', async () => {
    const probe = new ProbeProcess('probe-service.ts', { ...env, PROBE: 'broken' });
    expect(await probe.exited).toBe(1);
    expect(probe.output).toContain('cannot be built');
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'stops in order and exits 0 on %s, with the hooks run once (B122)',
    async (signal) => {
      const probe = new ProbeProcess('probe-service.ts', env);
      await probe.says(STARTED);
      probe.signal(signal);
      probe.signal(signal);
      probe.signal('SIGTERM');
      expect(await probe.exited).toBe(0);
      expect(probe.output.match(/^HOOK$/gm)).toHaveLength(1);
    },
  );

  it('exits 1 when the stop takes longer than it may', async () => {
    const probe = new ProbeProcess('probe-service.ts', { ...env, PROBE: 'stuck', BATON_SHUTDOWN_TIMEOUT_MS: '200' });
    await probe.says(STARTED);
    probe.signal('SIGTERM');
    expect(await probe.exited).toBe(1);
    expect(probe.output).toContain('"phase":"drain"');
  });

  it.each([
    ['reject', 'unhandled rejection'],
    ['throw', 'uncaught exception'],
  ])('stops in order and exits 1 on a fatal error (%s)', async (probeMode, message) => {
    const probe = new ProbeProcess('probe-service.ts', { ...env, PROBE: probeMode });
    expect(await probe.exited).toBe(1);
    expect(probe.output).toContain(message);
    expect(probe.output).toContain('HOOK');
  });

  it('serves its probes and metrics, and says why it is not ready', async () => {
    const probe = new ProbeProcess('probe-service.ts', { ...env, PROBE: 'unready' });
    await probe.says(STARTED);
    const get = async (path: string, method = 'GET') => {
      const response = await fetch(`http://127.0.0.1:${probe.adminPort}${path}`, { method });
      return { status: response.status, text: await response.text() };
    };
    expect((await get('/livez')).status).toBe(200);
    expect((await get('/startupz')).status).toBe(200);
    const ready = await get('/readyz');
    expect(ready.status).toBe(503);
    expect(JSON.parse(ready.text)).toMatchObject({
      checks: [
        { name: 'service', ok: true },
        { name: 'teapot', ok: false, reason: 'short and stout' },
      ],
    });
    expect((await get('/metrics')).text).toMatch(/baton_ready\{service="probe"\} 0/);
    expect((await get('/nothing')).status).toBe(404);
    expect((await get('/livez', 'POST')).status).toBe(405);
    probe.signal('SIGTERM');
    expect(await probe.exited).toBe(0);
  });
});
