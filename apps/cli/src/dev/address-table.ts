import type { Layout } from './layout.js';
import { isLibrary, type Addresses } from './state.js';

/** The addresses, aligned, for people. */
export function addressTable(addresses: Addresses, layout: Layout): string {
  const services: readonly (readonly [string, string])[] = isLibrary(addresses)
    ? [['Orders (HTTP)', `${addresses.embeddedSaga}/orders`]]
    : [
        ['REST API', addresses.gateway],
        ['OpenAPI', `${addresses.gateway}/openapi.json`],
        ['gRPC for workers', addresses.coordinator],
        ['Definition registry', addresses.registry],
        ['Kafka', addresses.brokers],
      ];
  const rows = [...services, ['PostgreSQL', addresses.databaseUrl] as const, ['Logs', layout.logs] as const];
  const width = Math.max(...rows.map(([title]) => title.length));
  return rows.map(([title, address]) => `  ${title.padEnd(width)}  ${address}`).join('\n');
}
