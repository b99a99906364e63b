import { eventually } from '@baton/testkit';
import { orderKinds, type OrderKind } from './orders.js';
import type { Rest, RestAnswer } from './rest.js';

export interface OrderOutcome {
  readonly runId: string;
  readonly orderId: string;
  readonly kind: string;
  readonly expected: string;
  readonly actual: string;
  /** What the run gave back, for one that succeeded. */
  readonly output: unknown;
}

export interface FeederLimits {
  readonly least: number;
  readonly most: number;
  readonly open: number;
  /** How long one order may take, faults included. */
  readonly patienceMs?: number;
}

/** Keeps a number of order runs open: starts the next when one has ended, until it is told that it is enough. */
export class OrderFeeder {
  private started = 0;
  private ended = 0;
  private isEnough = false;
  private readonly openRuns = new Set<string>();

  constructor(
    private readonly rest: Rest,
    private readonly limits: FeederLimits,
  ) {}

  /** No more than the least number from now on. */
  enough(): void {
    this.isEnough = true;
  }

  /** Runs that are known to be started and not known to have ended. */
  get open(): ReadonlySet<string> {
    return this.openRuns;
  }

  get endedSoFar(): number {
    return this.ended;
  }

  /** Resolves with how each run ended, when all have. */
  async feed(): Promise<readonly OrderOutcome[]> {
    const outcomes: OrderOutcome[] = [];
    const lane = async (): Promise<void> => {
      while (this.wantsMore()) outcomes.push(await this.oneOrder());
    };
    await Promise.all(Array.from({ length: this.limits.open }, lane));
    return outcomes;
  }

  private wantsMore(): boolean {
    const { least, most } = this.limits;
    return this.started < most && !(this.isEnough && this.started >= least);
  }

  private async oneOrder(): Promise<OrderOutcome> {
    const kinds = orderKinds();
    const index = this.started;
    this.started += 1;
    const kind = kinds[index % kinds.length];
    if (kind === undefined) throw new Error('there are no kinds of orders');
    const orderId = `C-${index}`;
    const runId = await this.rest.startOrder({ ...kind.input, orderId }, `order-${index}`, this.patienceMs);
    this.openRuns.add(runId);
    const expected = kind.cancelAt === undefined ? kind.expected : await this.cancel(runId, kind);
    const { status, output } = await this.rest.ending(runId, this.patienceMs);
    this.openRuns.delete(runId);
    this.ended += 1;
    return { runId, orderId, kind: kind.name, expected, actual: status, output };
  }

  /** What the answer to the cancel says about the run's end. A cancel whose answer was lost is asked again. */
  private async cancel(runId: string, kind: OrderKind): Promise<string> {
    const limits = { timeoutMs: this.patienceMs, intervalMs: 250 };
    await eventually(() => this.isPast(runId, kind.cancelAt), {
      ...limits,
      what: `${runId} comes to ${kind.cancelAt}`,
    });
    const answer = await eventually(
      async () => {
        const given = await this.rest.post(`/v1/runs/${runId}/cancel`, { reason: kind.name, requestId: runId });
        return isLater(given) ? undefined : given;
      },
      { ...limits, what: `the cancel of ${runId} is answered` },
    );
    if (answer.status === 200) return 'CANCELLED';
    if (answer.status === 409 && answer.body?.code === 'RUN_TERMINAL') return kind.expected;
    throw new Error(`a cancel of ${runId} was answered ${answer.status} ${answer.text}`);
  }

  private async isPast(runId: string, nodeId: string | undefined): Promise<boolean> {
    const { body } = await this.rest.get(`/v1/runs/${runId}`);
    const tasks = body.tasks as readonly { readonly nodeId: string }[];
    return tasks.some((task) => task.nodeId === nodeId) || body.run.endedAt !== null;
  }

  private get patienceMs(): number {
    return this.limits.patienceMs ?? 150_000;
  }
}

/** Nobody could take the call just now: the same again is safe, since it has an id. */
export function isLater(answer: RestAnswer): boolean {
  return answer.status === 503 || answer.status === 504;
}
