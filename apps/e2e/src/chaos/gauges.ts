import type { ServiceProcess } from '@baton/testkit';

/** Sum of a metric over its labels; undefined where the service does not answer within a second. */
export async function metricOf(service: ServiceProcess, ...names: readonly string[]): Promise<number | undefined> {
  const port = service.spec.adminPort;
  if (!service.running || port === undefined) return undefined;
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(1_000) });
    const text = await answer.text();
    return text.split('\n').reduce((sum, line) => {
      const [, name, value] = /^(\w+)(?:\{[^}]*\})? ([\d.e+]+)$/.exec(line) ?? [];
      return name !== undefined && names.includes(name) ? sum + Number(value) : sum;
    }, 0);
  } catch {
    return undefined;
  }
}
