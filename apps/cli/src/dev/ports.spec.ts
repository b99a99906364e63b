import { choosePorts, DEFAULT_PORTS, type PortProbe } from './ports.js';

function probe(taken: readonly number[]): PortProbe {
  return { isFree: async (port) => !taken.includes(port), describeOwner: () => 'nginx' };
}

describe('the choice of ports', () => {
  it('takes the default ports when they are free', async () => {
    expect(await choosePorts(new Set(), probe([]))).toEqual({ ports: DEFAULT_PORTS, notes: [] });
  });

  it('leaves a taken port to its owner and says in one sentence which one is used instead', async () => {
    const { ports, notes } = await choosePorts(new Set(), probe([8080, 8081]));
    expect(ports.gateway).toBe(8082);
    expect(notes).toEqual(['Port 8080 is taken by nginx: the gateway uses 8082 instead.']);
  });

  it('never gives one port to two', async () => {
    const { ports } = await choosePorts(new Set(), probe([7401, 7402, 7403, 9080, 9081]));
    const all = Object.values(ports);
    expect(new Set(all).size).toBe(all.length);
  });

  it('does not look at the port of a server that exists already', async () => {
    expect((await choosePorts(new Set(['postgres' as const]), probe([54320]))).notes).toEqual([]);
  });
});
