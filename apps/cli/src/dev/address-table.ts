import type { Layout } from './layout.js';
import type { Addresses } from './state.js';

/** The addresses, aligned, for people. */
export function addressTable(addresses: Addresses, layout: Layout): string {
  const rows: readonly (readonly [string, string])[] = [
    ['REST API', addresses.gateway],
    ['OpenAPI', `${addresses.gateway}/openapi.json`],
    ['gRPC for workers', addresses.coordinator],
    ['Definition registry', addresses.registry],
    ['Kafka', addresses.brokers],
    ['PostgreSQL', addresses.databaseUrl],
    ['Logs', layout.logs],
  ];
  const width = Math.max(...rows.map(([title]) => title.length));
  return rows.map(([title, address]) => `  ${title.padEnd(width)}  ${address}`).join('\n');
}
