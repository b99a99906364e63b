import type { ClaimedStep } from '../journal/ports.js';

/** Fields of every log line about one attempt. Never payloads. */
export function stepFields(step: ClaimedStep): object {
  return {
    run_id: step.runId,
    saga_id: step.definitionId,
    step: step.nodeId,
    kind: step.kind,
    attempt: step.attempt,
    lease_id: step.leaseId,
  };
}
