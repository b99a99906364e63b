import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** Everything that this library ships. */
const SOURCES = join(__dirname, '..');
const ALLOWED = join('executor', 'system-clock.ts');

const REAL =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\)|\bperformance\b|\bhrtime\b|\bTemporal\b|\bMath\.random\b|\bset(Timeout|Interval|Immediate)\b|node:timers|\brandom(UUID|Bytes|Int)\b|\bgetRandomValues\b|\bsystemClock\b.*@baton\/execution|\bAbortSignal\.timeout\b|from 'uuid'/;

function sources(): readonly string[] {
  return readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) => {
    const folders = file.split(sep);
    return /(?<!\.spec)\.ts$/.test(file) && !folders.includes('testing') && !folders.includes('weaknesses');
  });
}

describe('time and chance in this library', () => {
  it('are injected: only system-clock.ts asks for the real ones', () => {
    const asking = sources().filter((file) => REAL.test(readFileSync(join(SOURCES, file), 'utf8')));
    expect(asking.map((file) => relative('.', file))).toEqual([ALLOWED]);
    expect(sources().length).toBeGreaterThan(15);
  });

  it.each([
    'const now = Date.now();',
    'new Date()',
    'performance.now()',
    'Math.random()',
    'setTimeout(tick, 10)',
    "import { setTimeout as sleep } from 'node:timers/promises';",
    "import { randomUUID } from 'node:crypto';",
    'AbortSignal.timeout(5)',
    "import { v7 } from 'uuid';",
  ])('would be found: %s', (planted) => {
    expect(REAL.test(planted)).toBe(true);
    expect(REAL.test('new Date(row.startedAt)')).toBe(false);
  });
});
