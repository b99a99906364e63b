import { demoRuns, type Rest } from './rest.js';

export interface OrderOutcome {
  readonly runId: string;
  readonly expected: string;
  readonly actual: string;
}

/** Keeps a number of order runs open: starts the next when one has ended, until it is told that it is enough. */
export class OrderFeeder {
  private started = 0;
  private isEnough = false;

  constructor(
    private readonly rest: Rest,
    private readonly limits: { readonly least: number; readonly most: number; readonly open: number },
  ) {}

  /** No more than the least number from now on. */
  enough(): void {
    this.isEnough = true;
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
    const runs = demoRuns();
    const index = this.started;
    this.started += 1;
    const demo = runs[index % runs.length];
    if (demo === undefined) throw new Error('the example has no demo runs');
    const runId = await this.rest.startOrder({ ...demo.input, orderId: `C-${index}` }, `order-${index}`);
    return { runId, expected: demo.expected, actual: await this.rest.outcome(runId, 150_000) };
  }
}
