import pino from 'pino';
import { Lifecycle } from './lifecycle.js';

const logger = pino({ level: 'silent' });

describe('an orderly stop', () => {
  it('runs its phases one after the other, whatever the order of registration (B122)', async () => {
    const lifecycle = new Lifecycle(logger, 1_000);
    const order: string[] = [];
    const hook = (name: string) => async () => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push(name);
    };
    lifecycle.onShutdown('storage', 'db', hook('db'));
    lifecycle.onShutdown('flush', 'logs', hook('logs'));
    lifecycle.onShutdown('servers', 'http', hook('http'));
    lifecycle.onShutdown('intake', 'loop', hook('loop'));
    lifecycle.onShutdown('drain', 'calls', hook('calls'));
    expect(await lifecycle.shutdown()).toEqual({ clean: true });
    expect(order).toEqual(['loop', 'calls', 'http', 'db', 'logs']);
  });

  it('runs every hook once, however often it is asked (B122)', async () => {
    const lifecycle = new Lifecycle(logger, 1_000);
    let runs = 0;
    lifecycle.onShutdown('drain', 'count', () => {
      runs += 1;
    });
    await Promise.all([lifecycle.shutdown(), lifecycle.shutdown()]);
    await lifecycle.shutdown();
    expect(runs).toBe(1);
  });

  it('goes on after a hook that fails, and says that the stop was not clean', async () => {
    const lifecycle = new Lifecycle(logger, 1_000);
    let closed = false;
    lifecycle.onShutdown('drain', 'bad', () => Promise.reject(new Error('no')));
    lifecycle.onShutdown('storage', 'db', () => {
      closed = true;
    });
    expect(await lifecycle.shutdown()).toEqual({ clean: false });
    expect(closed).toBe(true);
  });

  it('gives up at its deadline', async () => {
    const lifecycle = new Lifecycle(logger, 20);
    lifecycle.onShutdown('drain', 'stuck', () => new Promise(() => undefined));
    expect(await lifecycle.shutdown()).toEqual({ clean: false });
  });
});
