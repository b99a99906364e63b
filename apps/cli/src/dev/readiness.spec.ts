import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import * as http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askReadiness, awaitReady, lastLogMessage } from './readiness.js';

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return (server.address() as AddressInfo).port;
}

describe('readiness', () => {
  let folder: string;
  let logFile: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-ready-'));
    logFile = join(folder, 'service.log');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('waits until a service says that it is ready', async () => {
    let asked = 0;
    const server = http.createServer((_request, response) => {
      asked += 1;
      response.statusCode = asked < 3 ? 503 : 200;
      response.end('starting');
    });
    const adminPort = await listening(server);
    const ready: string[] = [];
    const service = { name: 'gateway', adminPort, logFile, restarts: () => 0 };
    await awaitReady(service, { timeoutMs: 5_000, onReady: (name) => ready.push(name) });
    expect(ready).toEqual(['gateway']);
    expect(asked).toBe(3);
    server.closeAllConnections();
    server.close();
  });

  it('gives up on a service that keeps ending, with the last thing it said', async () => {
    const closed = createServer();
    const adminPort = await listening(closed);
    await new Promise((resolve) => closed.close(resolve));
    writeFileSync(
      logFile,
      '{"level":30,"msg":"starting"}\n{"level":60,"msg":"cannot start","err":{"message":"no database"}}\n',
    );
    const service = { name: 'gateway', adminPort, logFile, restarts: () => 3 };
    await expect(awaitReady(service, { timeoutMs: 5_000, onReady: () => undefined })).rejects.toThrow(
      'gateway keeps ending (cannot start: no database); see',
    );
    expect(await askReadiness(adminPort)).toEqual({ ready: false, reason: 'no answer' });
  });

  it('reads the last line of a log that is not made of records', () => {
    writeFileSync(logFile, 'first\nError: broken\n');
    expect(lastLogMessage(logFile)).toBe('Error: broken');
    expect(lastLogMessage(join(folder, 'missing.log'))).toBe('it wrote no log');
  });
});
