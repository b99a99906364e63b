import { newRun, type Dag } from '@baton/core';
import { BoundedMap } from './bounded-map.js';
import { DefinitionCache, type DefinitionMiss, type LoadedDefinition } from './definition-cache.js';
import { RunCache } from './run-cache.js';

const run = (runId: string, namespace = 'default') =>
  newRun({ runId, namespace, definitionId: 'd', definitionVersion: 1, route: 'kafka' });

describe('the cache of run states', () => {
  const put = (cache: RunCache, runId: string): void =>
    cache.put({ state: run(runId), traceparent: null, input: '{}', payloads: new Map() });

  it('gives a run only to its own namespace, and none after it was evicted', () => {
    const cache = new RunCache(10_000);
    put(cache, 'r');
    expect(cache.get('default', 'r')?.state.runId).toBe('r');
    expect(cache.get('other', 'r')).toBeUndefined();
    cache.evict('r');
    expect(cache.get('default', 'r')).toBeUndefined();
  });

  it('forgets what was used least recently when its bytes are full', () => {
    const cache = new RunCache(1_500);
    put(cache, 'a');
    put(cache, 'b');
    cache.get('default', 'a');
    put(cache, 'c');
    expect(['a', 'b', 'c'].map((runId) => cache.get('default', runId) !== undefined)).toEqual([true, false, true]);
    expect(new RunCache(0).get('default', 'a')).toBeUndefined();
  });

  it('knows of each row the texts that were written, and adds to them', () => {
    const cache = new RunCache(100_000);
    const known = (input: string | undefined, output: string | null | undefined): void =>
      cache.put({
        state: run('r'),
        traceparent: null,
        input: undefined,
        payloads: new Map([['t', { input, output }]]),
      });
    known('1', null);
    known(undefined, '2');
    expect(cache.get('default', 'r')?.payloads.get('t')).toEqual({ input: '1', output: '2' });
    known(undefined, null);
    known(undefined, 'x'.repeat(20_000));
    expect(cache.get('default', 'r')?.payloads.get('t')).toEqual({ input: '1', output: undefined });
  });

  it('is used only now and then while others overtake it, and again when they do not', () => {
    const cache = new RunCache(10_000);
    put(cache, 'r');
    const uses = (): number => Array.from({ length: 32 }, () => cache.get('default', 'r')).filter(Boolean).length;
    expect(uses()).toBe(32);
    for (let miss = 0; miss < 8; miss += 1) cache.learn(false);
    expect(uses()).toBe(2);
    for (let hit = 0; hit < 8; hit += 1) cache.learn(true);
    expect(uses()).toBe(32);
  });
});

describe('the cache of definitions', () => {
  it('asks once for what many want at once, and again for what was missing', async () => {
    const dag = { definitionId: 'd', version: 1 } as unknown as Dag;
    const loads: string[] = [];
    let published = false;
    const load = (_namespace: string, id: string, version: number): Promise<LoadedDefinition | DefinitionMiss> => {
      loads.push(`${id}@${version}`);
      return Promise.resolve(published ? { dag, size: 100 } : { missing: true, reason: 'none' });
    };
    const cache = new DefinitionCache({ load }, 10_000);
    await Promise.all([cache.load('n', 'd', 1), cache.load('n', 'd', 1)]);
    expect(loads).toEqual(['d@1']);
    published = true;
    expect(await cache.load('n', 'd', 1)).toBe(dag);
    expect(await cache.load('n', 'd', 1)).toBe(dag);
    expect(cache.peek('n', 'd', 1)).toBe(dag);
    expect(cache.peek('other', 'd', 1)).toBeUndefined();
    expect(loads).toHaveLength(2);
  });

  it('keeps definitions by the length of their text', async () => {
    const dag = { definitionId: 'd', version: 1 } as unknown as Dag;
    const cache = new DefinitionCache({ load: (_ns, id) => Promise.resolve({ dag, size: Number(id) }) }, 10_000);
    for (const id of ['10', '7000', '1000', '20000']) await cache.load('n', id, 1);
    expect(['10', '7000', '1000', '20000'].map((id) => cache.peek('n', id, 1) !== undefined)).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });

  it('forgets a failed load', async () => {
    let calls = 0;
    const cache = new DefinitionCache(
      {
        load: () =>
          ++calls === 1 ? Promise.reject(new Error('away')) : Promise.resolve({ missing: true, reason: '' }),
      },
      10,
    );
    await expect(cache.load('n', 'd', 1)).rejects.toThrow('away');
    expect(await cache.load('n', 'd', 1)).toMatchObject({ missing: true });
  });
});

describe('a bounded map', () => {
  it('does not keep what is larger than all of it', () => {
    const map = new BoundedMap<string>(10);
    map.set('a', 'a', 4);
    map.set('big', 'big', 11);
    expect([map.get('a'), map.get('big'), map.size, map.usedSize]).toEqual(['a', undefined, 1, 4]);
    map.set('a', 'b', 6);
    expect([map.get('a'), map.usedSize]).toEqual(['b', 6]);
    map.delete('a');
    map.delete('a');
    expect(map.usedSize).toBe(0);
  });
});
