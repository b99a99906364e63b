import type { AcquireLease, HeartbeatCall } from '../api.js';
import { checkCount, checkDuration, checkJson, checkName, checkUuid, isUuid } from './checks.js';

const largestProgressBytes = 16 * 1024;

export function checkAcquire(raw: AcquireLease): AcquireLease {
  if (raw.attempt !== undefined) checkCount(raw.attempt, 'attempt');
  checkName(raw.owner, 'owner');
  checkName(raw.callId, 'callId');
  const { attempt, ...rest } = raw;
  return {
    ...rest,
    // Older workers send none, which is 0 on the wire: the current one is granted.
    ...(attempt === undefined || attempt === 0 ? {} : { attempt }),
    runId: checkUuid(raw.runId, 'runId'),
    taskId: checkUuid(raw.taskId, 'taskId'),
    ttlMs: checkDuration(raw.ttlMs, 'ttlMs'),
  };
}

/** null = no lease has such an id: LOST, without asking. */
export function checkHeartbeat(raw: HeartbeatCall): HeartbeatCall | null {
  checkCount(raw.attempt, 'attempt');
  if (raw.progress !== undefined) checkJson(raw.progress, 'progress', largestProgressBytes);
  const call = {
    ...raw,
    runId: checkUuid(raw.runId, 'runId'),
    taskId: checkUuid(raw.taskId, 'taskId'),
    ttlMs: checkDuration(raw.ttlMs, 'ttlMs'),
    leaseId: raw.leaseId.toLowerCase(),
  };
  return isUuid(call.leaseId) ? call : null;
}
