import { ProbeProcess } from '../testing/probe-process.js';

jest.setTimeout(60_000);

describe('a process with telemetry', () => {
  // In a process of its own: the SDK patches what it finds, for good.
  async function found(env: Record<string, string>): Promise<unknown> {
    const probe = new ProbeProcess('probe-telemetry.ts', env);
    await probe.exited;
    return JSON.parse(/FOUND (.*)/.exec(probe.output)?.[1] ?? JSON.stringify(probe.output));
  }

  it('loads nothing when it is off', async () => {
    expect(await found({})).toEqual({ kafka: false, pg: false, grpc: false, sdk: false, sigtermListeners: 0 });
  });

  it('patches Kafka, PostgreSQL and gRPC when it is on, and leaves SIGTERM to the order of the stop', async () => {
    const quiet = { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' };
    expect(await found({ BATON_TELEMETRY: 'on', ...quiet })).toEqual({
      kafka: true,
      pg: true,
      grpc: true,
      sdk: true,
      sigtermListeners: 0,
    });
  });
});
