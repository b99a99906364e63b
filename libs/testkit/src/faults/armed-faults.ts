/**
 * Where the wire breaks: before the message is forwarded, after that at once, or when it has been answered.
 * `late`: at once, and the message is forwarded when the test says so.
 */
export type FaultPoint = 'before' | 'during' | 'after' | 'late';

export interface FaultOptions {
  /** How many times; default 1. */
  readonly count?: number;
  /** Only where the text of the deciding message says so: the SQL that commits, with what was executed along with it. */
  readonly matching?: (text: string) => boolean;
  /** The client sees a reset (ECONNRESET) instead of an end. */
  readonly reset?: boolean;
}

/** A fault that waits for its moments. */
export interface ArmedFault {
  readonly happened: number;
  /** Resolves when it has happened as often as was asked. Never rejects. */
  readonly done: Promise<void>;
  /** No more of it. */
  disarm(): void;
}

/** The commit is on its way, and its client has gone. */
export interface LateFault extends ArmedFault {
  /** Lets everything arrive that is held. */
  deliver(): void;
}

/** One time that a fault takes place, from its choice until the wire is cut. */
export interface Taking {
  readonly point: FaultPoint;
  readonly reset: boolean;
  happen(): void;
  /** `late`: how to let it arrive. */
  holdBack(deliver: () => void): void;
  /** The server refused the request: the fault waits for another. */
  giveBack(): void;
}

export class ArmedFaults {
  private readonly faults: Fault[] = [];

  arm(point: FaultPoint, options: FaultOptions = {}): LateFault {
    const fault = new Fault(point, options);
    this.faults.push(fault);
    return fault;
  }

  take(text: string): Taking | undefined {
    for (const fault of this.faults) {
      const taking = fault.take(text);
      if (taking !== undefined) return taking;
    }
    return undefined;
  }
}

class Fault implements LateFault {
  readonly done: Promise<void>;
  happened = 0;
  private left: number;
  private readonly wanted: number;
  private readonly deliveries: (() => void)[] = [];
  private finish: () => void = () => undefined;

  constructor(
    private readonly point: FaultPoint,
    private readonly options: FaultOptions,
  ) {
    this.wanted = this.left = options.count ?? 1;
    this.done = new Promise((resolve) => (this.finish = resolve));
  }

  disarm(): void {
    this.left = 0;
  }

  deliver(): void {
    for (const deliver of this.deliveries.splice(0)) deliver();
  }

  take(text: string): Taking | undefined {
    if (this.left === 0 || this.options.matching?.(text) === false) return undefined;
    this.left -= 1;
    return {
      point: this.point,
      reset: this.options.reset ?? false,
      happen: () => {
        this.happened += 1;
        if (this.happened === this.wanted) this.finish();
      },
      holdBack: (deliver) => {
        this.deliveries.push(deliver);
      },
      giveBack: () => {
        this.left += 1;
      },
    };
  }
}
