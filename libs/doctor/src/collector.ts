import type { Check, DoctorReport, Examined, Finding, Invariant, Progress, Unable } from './report.js';

const MAX_FINDINGS = 1_000;

interface Line {
  readonly name: string;
  readonly invariants: readonly Invariant[];
  readonly looked: () => string;
  readonly skipped: boolean;
}

/** Gathers what the checks find and count. Keeps so many findings, counts the others. */
export class Collector {
  readonly examined: { -readonly [K in keyof Examined]: Examined[K] } = {
    runs: 0,
    tasks: 0,
    journalRows: 0,
    outboxRows: 0,
    keys: 0,
    timers: 0,
    messages: 0,
  };
  private readonly findings: Finding[] = [];
  private readonly counts = new Map<Invariant, number>();
  private readonly unables: Unable[] = [];
  private readonly lines: Line[] = [];
  private readonly failed = new Set<Invariant>();
  private more = 0;

  constructor(
    private readonly limit = MAX_FINDINGS,
    private readonly tell: (progress: Progress) => void = () => undefined,
  ) {}

  add(finding: Finding): void {
    this.counts.set(finding.invariant, (this.counts.get(finding.invariant) ?? 0) + 1);
    if (this.findings.length < this.limit) this.findings.push(finding);
    else this.more += 1;
  }

  /** A part that cannot be looked at; `invariants` are those that stay open by it. */
  unable(what: string, why: string, invariants: readonly Invariant[] = []): void {
    for (const invariant of invariants) this.failed.add(invariant);
    if (!this.unables.some((known) => known.what === what && known.why === why)) this.unables.push({ what, why });
  }

  /** A line of the report; what it looked at is told at the end. */
  line(name: string, invariants: readonly Invariant[], looked: () => string, skipped = false): void {
    this.lines.push({ name, invariants, looked, skipped });
  }

  progress(check: string, done: number): void {
    this.tell({ check, done });
  }

  report(): DoctorReport {
    const checks: Check[] = this.lines.map(({ name, invariants, looked, skipped }) => ({
      name,
      invariants,
      looked: looked(),
      findings: invariants.reduce((sum, invariant) => sum + (this.counts.get(invariant) ?? 0), 0),
      state: invariants.some((invariant) => this.failed.has(invariant)) ? 'unable' : skipped ? 'skipped' : 'done',
    }));
    return {
      ok: this.examined.runs > 0 && this.unables.length === 0 && this.findings.length === 0,
      findings: this.findings,
      moreFindings: this.more,
      examined: this.examined,
      unable: this.unables,
      checks,
    };
  }
}
