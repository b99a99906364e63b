/** Value below which `share` (0..1) of the sorted samples lie; NaN without samples. */
export function quantile(samples: readonly number[], share: number): number {
  if (samples.length === 0) return Number.NaN;
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

/** Runs `work` over all items with at most `inFlight` at once; answers the milliseconds that it took. */
export async function drive<T>(
  items: readonly T[],
  inFlight: number,
  work: (item: T) => Promise<unknown>,
): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      const item = items[next];
      next += 1;
      if (item !== undefined) await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, items.length) }, lane));
  return performance.now() - startedAt;
}
