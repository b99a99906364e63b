/** The old behaviour of W11: leases and time stamps go by the clock of whichever process writes. */
export class ProcessClockLeases {
  private leasedUntil = Number.NEGATIVE_INFINITY;
  private updatedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly leaseMs: number) {}

  claim(nowOfProcess: number): boolean {
    if (nowOfProcess <= this.leasedUntil) return false;
    this.leasedUntil = nowOfProcess + this.leaseMs;
    return true;
  }

  /** Refused as a clock regression when another process has written with a later clock. */
  commit(nowOfProcess: number): boolean {
    if (nowOfProcess < this.updatedAt) return false;
    this.updatedAt = nowOfProcess;
    this.leasedUntil = Number.NEGATIVE_INFINITY;
    return true;
  }
}
