import { SAGA_METRICS, type MetricLabel } from '../metric-catalogue.js';

/** The reference page, from the catalogue alone. */
export function metricsPage(): string {
  const rows = SAGA_METRICS.map(({ name, type, help, labels }) => {
    const shown = labels.map((one: MetricLabel) =>
      one.values === null
        ? `\`${one.label}\``
        : `\`${one.label}\`: ${one.values.map((value) => `\`${value}\``).join(' ')}`,
    );
    return `| \`${name}\` | ${type} | ${help} | ${shown.join('<br>')} |`;
  });
  return `${HEAD}${rows.join('\n')}\n${FOOT}`;
}

const HEAD = `# Metrics of the embedded saga runtime

<!-- Kept by libs/saga/src/observe/metrics.spec.ts: the catalogue in metric-catalogue.ts is the source. -->

\`new SagaMetrics({ registry, cell, … })\` registers these in a registry of prom-client, all or none. Names and label values
never change. No label holds a run, a lease or a text; ids of sagas that the process does not know are \`_unregistered\`.

| Metric | Type | What it tells | Labels |
|---|---|---|---|
`;

const FOOT = `
Worth an alert: \`saga_oldest_claimable_seconds\` that grows (too few slots, or no process at all), \`saga_orphan_steps\` above
0 for long (a step ignores its signal), \`saga_heartbeat_failed_total{reason="infra_error"}\`, \`saga_tick_total{result="error"}\`,
\`saga_drive_total{result="error"}\`, and \`saga_duration_seconds_count{status="compensation_failed"}\`: that one needs a person.
Gauges that cannot be read are absent from the scrape.
`;
