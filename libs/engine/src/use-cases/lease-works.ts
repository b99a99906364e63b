import type { AcquireLease, ClaimableDefinition, ClaimTasks, HeartbeatCall, LeaseWish } from '../api.js';
import { checkVersion } from './command-works.js';
import {
  checkCount,
  checkDefinitionId,
  checkDuration,
  checkJson,
  checkName,
  checkUuid,
  invalid,
  isUuid,
} from './checks.js';

const largestProgressBytes = 16 * 1024;
const largestClaim = 10_000;

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

export function checkWish(raw: LeaseWish): LeaseWish {
  checkName(raw.owner, 'owner');
  checkCount(raw.max, 'max');
  return { ...raw, ttlMs: checkDuration(raw.ttlMs, 'ttlMs') };
}

export function checkClaim(raw: ClaimTasks): ClaimTasks {
  checkName(raw.owner, 'owner');
  checkName(raw.callId, 'callId');
  checkClaimable(raw.definitions, raw.limit);
  return { ...raw, ttlMs: checkDuration(raw.ttlMs, 'ttlMs') };
}

export function checkClaimable(definitions: readonly ClaimableDefinition[], limit: number): void {
  for (const { id, version, queue } of definitions) {
    checkDefinitionId(id);
    checkVersion(version);
    checkName(queue, 'queue');
  }
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= largestClaim) return;
  throw invalid('NUMBER_INVALID', `limit must be from 1 to ${largestClaim}`, '/limit');
}
