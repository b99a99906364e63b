import { telemetryWanted } from './preload.js';

describe('telemetry', () => {
  it.each([
    [{}, false],
    [{ BATON_TELEMETRY: 'on' }, true],
    [{ BATON_TELEMETRY: 'off', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' }, true],
    [{ OTEL_TRACES_EXPORTER: 'console' }, true],
    [{ OTEL_TRACES_EXPORTER: 'console', OTEL_SDK_DISABLED: 'true' }, false],
  ])('with %j is wanted: %p', (env, wanted) => {
    expect(telemetryWanted(env)).toBe(wanted);
  });
});
