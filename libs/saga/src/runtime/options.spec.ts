import { type SagaError } from '../journal/errors.js';
import { checkSagaConfig, defaultSagaConfig } from './config.js';
import { checkSettings, type SagaRuntimeSettings } from './options.js';
import { resolverOf } from './testing/runtime-fixture.js';

const errorOf = (work: () => unknown): SagaError | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    return error as SagaError;
  }
};

const registry = resolverOf();
const check = (settings: object) => errorOf(() => checkSettings({ registry, ...settings } as SagaRuntimeSettings));

describe('what a runtime is made of', () => {
  it('C1: the four values have their defaults', () => {
    expect(defaultSagaConfig).toEqual({
      pollIntervalMs: 200,
      claimBatchSize: 16,
      leaseDurationMs: 30_000,
      heartbeatIntervalMs: 10_000,
    });
    expect(check({})).toBeUndefined();
  });

  it.each(Object.keys(defaultSagaConfig))('C1: %s must be a whole number greater than 0', (field) => {
    for (const value of [0, -1, 0.5, NaN, Infinity, '5', null, undefined]) {
      const error = errorOf(() => checkSagaConfig({ ...defaultSagaConfig, [field]: value }));
      expect(error).toMatchObject({ kind: 'invalid', code: 'CONFIG_INVALID', details: [{ pointer: `/${field}` }] });
    }
  });

  it('C1: two heartbeats must fit into a lease, and every fault is named at once', () => {
    const config = { ...defaultSagaConfig, heartbeatIntervalMs: 15_000 };
    expect(check({ config })).toMatchObject({ code: 'CONFIG_INVALID', details: [{ code: 'HEARTBEAT_TOO_SLOW' }] });
    expect(check({ config: { ...config, heartbeatIntervalMs: 14_999 } })).toBeUndefined();
    expect(check({ config: {} })?.details).toHaveLength(4);
  });

  it('C1: nothing is merged: a configuration without a field is refused', () => {
    expect(check({ config: { pollIntervalMs: 1_000 } })?.details.map(({ pointer }) => pointer)).toEqual([
      '/claimBatchSize',
      '/leaseDurationMs',
      '/heartbeatIntervalMs',
    ]);
  });

  it.each([
    ['registry', undefined, 'registry is missing'],
    ['registry', null, 'registry is missing'],
    ['registry', {}, 'registry must have resolve, all'],
    ['leaderElect', {}, 'leaderElect must have acquire'],
    ['logger', { info: () => undefined }, 'logger must have debug, info, warn, error'],
    ['clock', null, 'clock is missing'],
    ['random', 0.5, 'random must be a function'],
    ['tracer', 'on', 'tracer must have span'],
    ['relay', {}, 'relay must have kick'],
  ])('C2: is refused when %s is %j', (name, value, message) => {
    expect(check({ [name]: value })).toMatchObject({
      kind: 'invalid',
      code: 'PART_MISSING',
      details: [{ pointer: `/${name}`, message }],
    });
  });

  it('C2: names all that is missing at once', () => {
    expect(check({ registry: null, clock: null, relay: null })?.details).toHaveLength(3);
  });

  it('L1: a locker that is null is refused, not taken for none', () => {
    expect(check({ leaderElect: null })?.message).toContain('leaderElect is missing');
    expect(check({ leaderElect: { acquire: () => Promise.resolve(null) } })).toBeUndefined();
  });

  it('L1: a lease below a millisecond is refused, with a locker and without', () => {
    const config = { ...defaultSagaConfig, leaseDurationMs: 0.5, heartbeatIntervalMs: 0.1 };
    expect(check({ config })).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(check({ config, leaderElect: { acquire: () => Promise.resolve(null) } })).toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  it('W20: concurrency is a knob of its own', () => {
    expect(check({ concurrency: 0 })).toMatchObject({ code: 'CONFIG_INVALID', details: [{ pointer: '/concurrency' }] });
    expect(check({ concurrency: 500 })).toBeUndefined();
  });
});
