import { join } from 'node:path';
import { loadedBy, shippedSources } from '../testing/architecture.js';

const sources = shippedSources(join(__dirname, '..'));

/** What only the platform needs. */
const HEAVY = /^(@baton\/(worker|bus-kafka|contracts|wire)|@grpc\/|kafka|platform\/(?!options|gateway-api))/;

describe('what embedded users load', () => {
  it('is neither Kafka nor gRPC: the mode platform is loaded by its first use', () => {
    const loaded = [...loadedBy('index.ts', sources)];
    expect(loaded).toContain('runtime/create-runtime.ts');
    expect(loaded.filter((path) => HEAVY.test(path))).toEqual([]);
  });

  it('would be, if something loaded the mode at once', () => {
    const text = `export { PlatformSagaRuntime } from './platform/platform-runtime.js';`;
    const planted = [...sources.filter(({ path }) => path !== 'index.ts'), { path: 'index.ts', text }];
    expect([...loadedBy('index.ts', planted)].filter((path) => HEAVY.test(path))).toContain(
      'platform/step-handlers.ts',
    );
  });
});
