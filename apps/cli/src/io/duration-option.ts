import { InvalidArgumentError } from 'commander';

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** 500ms, 30s, 5m, 2h, 1d. */
export function parseDuration(text: string): number {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  const unit = unitMs[match?.[2] ?? ''];
  if (match === null || unit === undefined) throw new InvalidArgumentError('write it as 500ms, 30s, 5m, 2h or 1d.');
  return Number(match[1]) * unit;
}

export function parsePositive(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('it must be a whole number from 1 on.');
  return Number(text);
}
