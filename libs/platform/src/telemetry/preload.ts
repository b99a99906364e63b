import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * OpenTelemetry, before anything else is loaded: `node --require @baton/platform/telemetry`, or the first import of a
 * main.ts. Does nothing (and loads nothing) unless it is asked for, because the SDK costs memory and start time.
 *
 * Instrumentations patch a package when `require` loads it. Nest is ESM and would `import()` express and the gRPC
 * library itself, so they are required here first.
 */

type Flush = () => Promise<void>;

const FLUSH_KEY = Symbol.for('baton.telemetry.flush');

const ASKED_FOR_BY = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
  'OTEL_METRICS_EXPORTER',
  'OTEL_LOGS_EXPORTER',
];

export function telemetryWanted(env: Readonly<Record<string, string | undefined>>): boolean {
  const own = env['BATON_TELEMETRY']?.trim().toLowerCase();
  if (own === 'off' || own === '0' || own === 'false' || env['OTEL_SDK_DISABLED'] === 'true') return false;
  if (own === 'on' || own === '1' || own === 'true') return true;
  return ASKED_FOR_BY.some((name) => (env[name] ?? '') !== '');
}

/** Sends what is buffered. Called by the last phase of a stop. */
export async function flushTelemetry(): Promise<void> {
  await (globalThis as { [FLUSH_KEY]?: Flush })[FLUSH_KEY]?.();
}

function startTelemetry(): void {
  process.env['OTEL_SERVICE_NAME'] ??= serviceName(process.argv[1]);
  // One span for each DNS look-up, socket and file is noise.
  process.env['OTEL_NODE_DISABLED_INSTRUMENTATIONS'] ??= 'dns,net,router,fs';
  // The others ask the metadata services of clouds over the network, at every start.
  process.env['OTEL_NODE_RESOURCE_DETECTORS'] ??= 'env,host,os,process,serviceinstance';
  const before = new Set(process.listeners('SIGTERM'));
  const load = createRequire(__filename);
  load('@opentelemetry/auto-instrumentations-node/register');
  // The SDK would stop at the first SIGTERM and miss the drain: its listener becomes the flush of our own order.
  const added = process.listeners('SIGTERM').filter((listener) => !before.has(listener));
  for (const listener of added) process.removeListener('SIGTERM', listener);
  (globalThis as { [FLUSH_KEY]?: Flush })[FLUSH_KEY] = async () => {
    await Promise.all(added.map((listener) => (listener as () => unknown)()));
  };
  for (const name of ['express', 'kafkajs', '@grpc/grpc-js', 'pg']) load(name);
}

/** `@baton/coordinator` is `baton-coordinator` in traces. */
function serviceName(mainFile: string | undefined): string {
  for (let folder = dirname(mainFile ?? ''); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const text = readFileSync(join(folder, 'package.json'), 'utf8');
      const name = (JSON.parse(text) as { name?: unknown }).name;
      if (typeof name === 'string') return name.replace(/^@/, '').replace('/', '-');
    } catch {
      continue;
    }
  }
  return 'baton';
}

if (telemetryWanted(process.env) && (globalThis as { [FLUSH_KEY]?: Flush })[FLUSH_KEY] === undefined) startTelemetry();
