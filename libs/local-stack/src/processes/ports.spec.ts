import { createServer, type AddressInfo } from 'node:net';
import { describePortOwner, freePort, isPortFree } from './ports.js';

describe('ports', () => {
  it('tells a free port from a taken one, and who has it', async () => {
    expect(await isPortFree(await freePort())).toBe(true);
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await isPortFree(port)).toBe(false);
    expect(describePortOwner(port)).toMatch(process.platform === 'linux' ? `pid ${process.pid}` : 'another program');
    await new Promise((resolve) => server.close(resolve));
  });
});
