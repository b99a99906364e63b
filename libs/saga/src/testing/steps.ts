import type { Saga, SagaStep } from '../definition/saga.js';
import type { CompensateContext, StepContext } from '../definition/types.js';
import type { ClaimedStep, Heartbeater, HeartbeatVerdict, StepLease } from '../journal/ports.js';
import type { SagaLogger } from '../observe/observer.js';

/** A step as a claim brings it, with what a test does not care about filled in. */
export function claimedStep(fields: Partial<ClaimedStep> = {}): ClaimedStep {
  return {
    ...{ namespace: 'default', runId: 'run-1', taskId: 'task-1', nodeId: 'charge', item: 0 },
    ...{ kind: 'forward', generation: 1, attempt: 1, failures: 0, queue: 'order', handler: 'charge' },
    ...{ definitionId: 'order', definitionVersion: 1, epoch: 1, traceparent: null },
    ...{ leaseId: 'lease-1', ttlMs: 30_000, startToCloseMs: null, input: '{"input":null,"outputs":{}}' },
    ...fields,
  };
}

export interface StepCode {
  readonly after?: readonly string[];
  readonly run?: ((context: StepContext) => unknown) | null;
  readonly compensate?: ((context: CompensateContext) => unknown) | null;
}

/** A saga of one step, `charge`, as far as the executor sees it. */
export function sagaOf(code: StepCode, name = 'charge'): Saga {
  const { after = [], run = () => null, compensate = null } = code;
  const step: SagaStep = { name, index: 0, after, run, compensate };
  return {
    ...{ id: 'order', version: 1, options: { id: 'order', steps: [] }, spec: '{}', queue: 'order' },
    steps: new Map([[name, step]]),
  };
}

/** Answers as it is told, and remembers. */
export class FakeHeartbeater implements Heartbeater {
  readonly beats: { readonly lease: StepLease; readonly leaseMs: number; readonly progress: string | undefined }[] = [];
  answer: HeartbeatVerdict | 'never' | 'away' | 'broken' = 'ok';

  heartbeat(lease: StepLease, leaseMs: number, progress?: string): Promise<HeartbeatVerdict> {
    this.beats.push({ lease, leaseMs, progress });
    switch (this.answer) {
      case 'never':
        return new Promise(() => undefined);
      case 'away':
        return Promise.reject(new Error('the database is away'));
      case 'broken':
        throw new TypeError('secret: heartbeat is not a function');
      default:
        return Promise.resolve(this.answer);
    }
  }
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A logger that keeps its lines. */
export function recordingLogger(): SagaLogger & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const keep = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } });
  };
  return { lines, debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
}
