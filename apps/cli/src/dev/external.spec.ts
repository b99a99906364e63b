import { createServer, type AddressInfo } from 'node:net';
import { checkExternalServers, externalServers } from './external.js';

describe('servers that exist already', () => {
  it('are those of the environment; empty settings count as none', () => {
    expect(externalServers({ BATON_DATABASE_URL: 'postgresql://h/d', BATON_KAFKA_BROKERS: '' })).toEqual({
      databaseUrl: 'postgresql://h/d',
    });
    expect(externalServers({})).toEqual({});
  });

  it('are told in one sentence when they do not answer', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const databaseUrl = `postgresql://user@127.0.0.1:${port}/baton`;
    await checkExternalServers({ databaseUrl, brokers: `127.0.0.1:${port}, 127.0.0.1:1` });
    await expect(checkExternalServers({ databaseUrl, brokers: '127.0.0.1:1' })).rejects.toThrow(
      'Nothing answers at 127.0.0.1:1, which BATON_KAFKA_BROKERS names: start it, or unset BATON_KAFKA_BROKERS to use one of ours.',
    );
    await new Promise((resolve) => server.close(resolve));
    await expect(checkExternalServers({ databaseUrl })).rejects.toThrow('which BATON_DATABASE_URL names');
  });

  it.each([{ databaseUrl: 'localhost:5432' }, { brokers: 'localhost' }])('must be addresses: %j', async (servers) => {
    await expect(checkExternalServers(servers)).rejects.toThrow(/must be/);
  });
});
