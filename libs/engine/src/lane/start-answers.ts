import { EngineError, type LeasedTask, type RunStartedResult } from '../api.js';
import type { ExistingStart } from '../ports.js';
import type { StartWork } from './start-decider.js';

export type Claim = 'run-id' | 'idempotency-key' | 'business-key';

export interface Follower {
  readonly work: StartWork;
  readonly leader: StartWork;
  readonly claim: Claim;
}

/** Of starts that would meet on a key or a run id, only the first goes to the database (I11). */
export function claimKeys(works: readonly StartWork[]): { leaders: StartWork[]; followers: Follower[] } {
  const holders = new Map<string, StartWork>();
  const leaders: StartWork[] = [];
  const followers: Follower[] = [];
  for (const work of works) {
    const claims = claimsOf(work);
    const taken = claims.find(({ key }) => holders.has(key));
    const leader = taken === undefined ? undefined : holders.get(taken.key);
    if (taken !== undefined && leader !== undefined) {
      followers.push({ work, leader, claim: taken.claim });
      continue;
    }
    for (const { key } of claims) holders.set(key, work);
    leaders.push(work);
  }
  return { leaders, followers };
}

function claimsOf(work: StartWork): { readonly claim: Claim; readonly key: string }[] {
  const { namespace, idempotencyKey, businessKey, definitionId } = work.command;
  const claims: { readonly claim: Claim; readonly key: string }[] = [];
  if (idempotencyKey !== undefined) claims.push({ claim: 'idempotency-key', key: `i ${namespace} ${idempotencyKey}` });
  if (work.isClientRunId) claims.push({ claim: 'run-id', key: `r ${work.runId}` });
  if (businessKey !== undefined) {
    claims.push({ claim: 'business-key', key: `b ${namespace} ${definitionId} ${businessKey}` });
  }
  return claims;
}

/** What the leader's answer means for one that asked for the same key. null = ask the database. */
export function answerOf(
  work: StartWork,
  claim: Claim,
  answer: RunStartedResult | EngineError | undefined,
  leader: StartWork,
): RunStartedResult | EngineError | null {
  if (answer === undefined) return null;
  if (answer instanceof EngineError) {
    const isSame =
      claim === 'business-key' ? answer.code === 'BUSINESS_KEY_IN_USE' : work.requestHash === leader.requestHash;
    return isSame || answer.kind === 'unavailable' ? answer : null;
  }
  if (claim === 'business-key') return null;
  if (work.command.namespace !== leader.command.namespace) return null;
  const { runId, status } = answer;
  return existingAnswer(work, { reason: claim, runId, requestHash: leader.requestHash, status });
}

export function existingAnswer(work: StartWork, existing: ExistingStart): RunStartedResult | EngineError {
  const { reason, runId, status, requestHash } = existing;
  if (reason === 'business-key') {
    const message = `the business key is in use by run ${runId}`;
    return new EngineError('conflict', 'BUSINESS_KEY_IN_USE', message);
  }
  if (requestHash === work.requestHash) return { runId, created: false, status, ...leasedOf(work, []) };
  return reason === 'run-id'
    ? new EngineError('conflict', 'RUN_ID_IN_USE', 'this run id belongs to another start')
    : new EngineError('conflict', 'IDEMPOTENCY_MISMATCH', 'this idempotency key was used for another request');
}

export function leasedOf(work: StartWork, leased: readonly LeasedTask[]): Pick<RunStartedResult, 'leased'> {
  return work.command.lease === undefined ? {} : { leased };
}
