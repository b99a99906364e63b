import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

interface MetricOptions<L extends string> {
  /** Without the `baton_` prefix; base units; counters end in `_total`. */
  readonly name: string;
  readonly help: string;
  /** Bounded sets only: never a run id, a key, an error text or a raw path (B123). */
  readonly labels?: readonly L[];
}

/** The metrics of one process. One registry each, so that two services in one test do not share counts. */
export class Metrics {
  readonly registry = new Registry();

  constructor(service: string) {
    this.registry.setDefaultLabels({ service });
  }

  collectProcessMetrics(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  counter<L extends string = never>(options: MetricOptions<L>): Counter<L> {
    return new Counter<L>({ ...this.common(options) });
  }

  gauge<L extends string = never>(
    options: MetricOptions<L> & { readonly collect?: () => number | Promise<number> },
  ): Gauge<L> {
    const read = options.collect;
    if (read === undefined) return new Gauge<L>(this.common(options));
    return new Gauge<L>({
      ...this.common(options),
      async collect() {
        this.set(await read());
      },
    });
  }

  histogram<L extends string = never>(
    options: MetricOptions<L> & { readonly buckets?: readonly number[] },
  ): Histogram<L> {
    return new Histogram<L>({
      ...this.common(options),
      ...(options.buckets === undefined ? {} : { buckets: [...options.buckets] }),
    });
  }

  private common<L extends string>(options: MetricOptions<L>) {
    return {
      name: `baton_${options.name}`,
      help: options.help,
      labelNames: options.labels ?? ([] as readonly L[]),
      registers: [this.registry],
    };
  }
}
