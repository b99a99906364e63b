import pino from 'pino';
import { Loop, type LoopTurn } from './loop.js';

const logger = pino({ level: 'silent' });

class TestLoop extends Loop {
  turns = 0;
  running = 0;
  mostAtOnce = 0;

  constructor(private readonly work: (turn: number, signal: AbortSignal) => Promise<LoopTurn>) {
    super({ name: 'test', logger, errorBackoffMs: [1, 4] });
  }

  protected override async runOnce(signal: AbortSignal): Promise<LoopTurn> {
    this.turns += 1;
    this.running += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running);
    try {
      return await this.work(this.turns, signal);
    } finally {
      this.running -= 1;
    }
  }
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('a loop', () => {
  it('starts once, however often it is started', async () => {
    const loop = new TestLoop(async () => ({ waitMs: 1 }));
    loop.start();
    loop.start();
    await until(() => loop.turns > 5);
    await loop.stop();
    expect(loop.mostAtOnce).toBe(1);
  });

  it('stops when the turn in flight has ended, and not before', async () => {
    const gate = deferred();
    const loop = new TestLoop(async () => {
      await gate.promise;
      return { waitMs: 0 };
    });
    loop.start();
    await until(() => loop.running === 1);
    let stopped = false;
    const stopping = loop.stop().then(() => (stopped = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(stopped).toBe(false);
    gate.resolve();
    await stopping;
    expect(loop.turns).toBe(1);
  });

  it('stops at once while it sleeps, also for longer than a timer can', async () => {
    const loop = new TestLoop(async () => ({ waitMs: 2 ** 40 }));
    loop.start();
    await until(() => loop.turns === 1 && loop.running === 0);
    await loop.stop();
    expect(loop.turns).toBe(1);
  });

  it('can be woken out of its sleep, and does not lose a wake-up during a turn', async () => {
    const gate = deferred();
    const loop = new TestLoop(async (turn) => {
      if (turn === 1) await gate.promise;
      return { waitMs: 1_000_000 };
    });
    loop.start();
    await until(() => loop.running === 1);
    loop.wake();
    gate.resolve();
    await until(() => loop.turns === 2);
    await new Promise((resolve) => setImmediate(resolve));
    loop.wake();
    await until(() => loop.turns === 3);
    await loop.stop();
  });

  it('outlives errors, counts them and forgets them after a good turn', async () => {
    const loop = new TestLoop(async (turn) => {
      if (turn < 4) throw new Error('no');
      return { waitMs: 1_000_000 };
    });
    loop.start();
    await until(() => loop.turns === 3);
    expect(loop.failuresInARow).toBeGreaterThan(0);
    await until(() => loop.turns === 4 && loop.running === 0);
    expect(loop.failuresInARow).toBe(0);
    await loop.stop();
  });

  it('can be started again after a stop, never twice at once', async () => {
    const loop = new TestLoop(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return { waitMs: 0 };
    });
    for (let n = 0; n < 20; n += 1) {
      loop.start();
      const stopping = loop.stop();
      loop.start();
      await stopping;
    }
    await until(() => loop.turns > 0);
    await loop.stop();
    expect(loop.mostAtOnce).toBe(1);
    expect(loop.running).toBe(0);
  });

  it('tells the turn that a stop is wanted', async () => {
    const loop = new TestLoop(
      (_turn, signal) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve({ waitMs: 0 }), { once: true })),
    );
    loop.start();
    await until(() => loop.running === 1);
    await loop.stop();
  });
});
