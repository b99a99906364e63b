import { EngineError } from '@baton/engine';
import type {
  AcquireLease,
  CancelRun,
  DueItem,
  EngineApi,
  HeartbeatCall,
  RetryCompensation,
  RetryRun,
  SignalRun,
  StartRun,
  TaskReport,
} from '@baton/engine';

/** What workers, people, clients and the timer service ask of an engine. */
export type Call =
  | { readonly kind: 'start'; readonly start: StartRun }
  | { readonly kind: 'report'; readonly report: TaskReport }
  | { readonly kind: 'acquire'; readonly acquire: AcquireLease }
  | { readonly kind: 'heartbeat'; readonly heartbeat: HeartbeatCall }
  | { readonly kind: 'signal'; readonly signal: SignalRun }
  | { readonly kind: 'cancel'; readonly cancel: CancelRun }
  | { readonly kind: 'retry'; readonly retry: RetryRun }
  | { readonly kind: 'retry-compensation'; readonly retryCompensation: RetryCompensation }
  | { readonly kind: 'fire'; readonly item: DueItem };

export interface Answer {
  /** The caller was told that this call changed the run. */
  readonly applied: boolean;
  readonly text: string;
  readonly runId?: string;
  readonly leaseId?: string;
}

/** Refusals are answers; what no caller of a healthy engine may hear is thrown. */
export async function send(engine: EngineApi, call: Call): Promise<Answer> {
  try {
    return await ask(engine, call);
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind === 'internal' || error.kind === 'unavailable') throw error;
    if (error.code === 'RUN_STUCK') throw error;
    return { applied: false, text: error.code };
  }
}

async function ask(engine: EngineApi, call: Call): Promise<Answer> {
  switch (call.kind) {
    case 'start': {
      const { runId, created } = await engine.start(call.start);
      return { applied: created, text: created ? 'CREATED' : 'EXISTS', runId };
    }
    case 'report': {
      const outcome = await engine.report(call.report);
      const applied = outcome === 'APPLIED' || outcome === 'APPLIED_CANCELLED' || outcome === 'REJECTED';
      return { applied, text: outcome };
    }
    case 'acquire': {
      const { status, leaseId } = await engine.acquire(call.acquire);
      return { applied: false, text: status, ...(leaseId === undefined ? {} : { leaseId }) };
    }
    case 'heartbeat':
      return { applied: false, text: (await engine.heartbeat(call.heartbeat)).status };
    case 'signal': {
      const { delivered, duplicate } = await engine.signal(call.signal);
      return { applied: !duplicate, text: duplicate ? 'DUPLICATE' : delivered ? 'DELIVERED' : 'BUFFERED' };
    }
    case 'cancel':
      return commandAnswer(await engine.cancel(call.cancel));
    case 'retry':
      return commandAnswer(await engine.retry(call.retry));
    case 'retry-compensation':
      return commandAnswer(await engine.retryCompensation(call.retryCompensation));
    case 'fire': {
      const [result] = await engine.fireDue([call.item]);
      if (result === undefined || result.outcome === 'FAILED')
        throw new Error(`firing failed: ${result?.reason ?? ''}`);
      return { applied: result.outcome === 'APPLIED', text: result.outcome };
    }
  }
}

function commandAnswer({ duplicate }: { readonly duplicate: boolean }): Answer {
  return { applied: !duplicate, text: duplicate ? 'DUPLICATE' : 'DONE' };
}

export function runIdOf(call: Call): string | undefined {
  switch (call.kind) {
    case 'start':
      return call.start.runId;
    case 'report':
      return call.report.runId;
    case 'acquire':
      return call.acquire.runId;
    case 'heartbeat':
      return call.heartbeat.runId;
    case 'signal':
      return call.signal.runId;
    case 'cancel':
      return call.cancel.runId;
    case 'retry':
      return call.retry.runId;
    case 'retry-compensation':
      return call.retryCompensation.runId;
    case 'fire':
      return call.item.runId;
  }
}
