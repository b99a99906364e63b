import { cpus, totalmem } from 'node:os';

export interface Metric {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What it should be, e.g. ">= 5"; null = reported only. */
  readonly goal: string | null;
  readonly met: boolean | null;
}

export interface BenchReport {
  readonly bench: string;
  readonly metrics: readonly Metric[];
  readonly rounds: number;
  readonly machine: string;
}

export function metric(
  name: string,
  value: number,
  unit: string,
  goal?: { readonly atLeast?: number; readonly atMost?: number },
): Metric {
  const rounded = Number(value.toPrecision(4));
  if (goal?.atLeast !== undefined)
    return { name, value: rounded, unit, goal: `>= ${goal.atLeast}`, met: value >= goal.atLeast };
  if (goal?.atMost !== undefined)
    return { name, value: rounded, unit, goal: `<= ${goal.atMost}`, met: value <= goal.atMost };
  return { name, value: rounded, unit, goal: null, met: null };
}

export function print(report: BenchReport, asJson: boolean): void {
  if (asJson) {
    process.stdout.write(`${JSON.stringify(report)}\n`);
    return;
  }
  process.stdout.write(`${report.bench}: ${report.rounds} rounds on ${report.machine}\n`);
  const width = Math.max(...report.metrics.map((entry) => entry.name.length));
  for (const { name, value, unit, goal, met } of report.metrics) {
    const verdict = goal === null ? '' : `  goal ${goal}: ${met === true ? 'met' : 'NOT met'}`;
    process.stdout.write(`  ${name.padEnd(width)}  ${String(value).padStart(9)} ${unit}${verdict}\n`);
  }
}

export function machine(): string {
  const [first] = cpus();
  return `${cpus().length} cores (${first?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
}

/** `-o json` or `--output json`; everything else is refused. */
export function wantsJson(args: readonly string[]): boolean {
  const [flag, value, ...rest] = args;
  if (flag === undefined) return false;
  if ((flag === '-o' || flag === '--output') && (value === 'json' || value === 'table') && rest.length === 0)
    return value === 'json';
  process.stderr.write(`unknown arguments: ${args.join(' ')} (known: -o json|table)\n`);
  process.exit(2);
}
