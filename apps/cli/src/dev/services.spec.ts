import { layoutOf } from './layout.js';
import { DEFAULT_PORTS } from './ports.js';
import { addressesOf, embeddedSagaSpec, libraryAddressesOf, serviceSpecs } from './services.js';

describe('the services of a development platform', () => {
  const addresses = addressesOf(DEFAULT_PORTS, 'postgresql://db', '127.0.0.1:19092');
  const specs = serviceSpecs({ layout: layoutOf('/home', '/project'), ports: DEFAULT_PORTS, addresses });

  it('are five, and the demo workers', () => {
    expect(specs.map(({ name }) => name).sort()).toEqual([
      'api-gateway',
      'coordinator',
      'definition-registry',
      'demo-workers',
      'outbox-relay',
      'timer-service',
    ]);
  });

  it('have an admin port each, whatever the caller has set for itself', () => {
    const ports = specs.map(({ env }) => env['BATON_ADMIN_PORT']).filter((port) => port !== undefined);
    expect(new Set(ports).size).toBe(5);
    expect(specs.every(({ env }) => env['NODE_OPTIONS'] === undefined)).toBe(true);
  });

  it('know the database only where they need it', () => {
    const withDatabase = specs.filter(({ env }) => env['BATON_DATABASE_URL'] !== undefined).map(({ name }) => name);
    expect(withDatabase.sort()).toEqual(['coordinator', 'definition-registry', 'outbox-relay', 'timer-service']);
  });
});

describe('the service of library mode', () => {
  it('knows its database, answers for its readiness where it serves, and needs no broker', () => {
    const spec = embeddedSagaSpec(layoutOf('/home', '/project'), 8090, 'postgresql://db');
    expect(spec).toMatchObject({ name: 'embedded-saga', adminPort: 8090, needsKafka: false });
    expect(spec.script).toBe('/project/examples/embedded-saga/dist/main.js');
    expect(spec.env).toMatchObject({ BATON_DATABASE_URL: 'postgresql://db', BATON_HTTP_PORT: '8090' });
    expect(libraryAddressesOf(8090, 'postgresql://db').embeddedSaga).toBe('http://127.0.0.1:8090');
  });
});
