import { Counter, Registry } from 'prom-client';

/** The old behaviour of W18: six counters, and nothing that tells how long, how many or how old. */
export function sixCounters(): Registry {
  const registry = new Registry();
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['saga_step_outcome_total', ['cell', 'definition_id', 'outcome']],
    ['saga_step_retry_total', ['cell', 'definition_id', 'step_name']],
    ['saga_heartbeat_failed_total', ['cell', 'reason']],
    ['saga_tick_total', ['cell', 'result']],
    ['saga_drive_total', ['cell', 'definition_id', 'result']],
    ['saga_leader_elect_skip_total', ['cell', 'definition_id', 'reason']],
  ];
  for (const [name, labelNames] of rows) new Counter({ name, help: name, labelNames, registers: [registry] });
  return registry;
}
