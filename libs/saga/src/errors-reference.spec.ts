import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = join(__dirname, '..', '..', '..', 'docs', 'reference', 'errors.md');

function shippedSources(): string {
  return readdirSync(__dirname, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts') && !/(^|\/)(testing|weaknesses)\//.test(name))
    .map((name) => readFileSync(join(__dirname, name), 'utf8'))
    .join('\n');
}

describe('the reference', () => {
  it('lists every code that the saga library rejects with', () => {
    const made = shippedSources().matchAll(/(?:SagaError\(\s*'[a-z-]+',|\binvalid\()\s*'([A-Z][A-Z0-9_]+)'/g);
    const codes = new Set([...made].map(([, code]) => code ?? ''));
    expect(codes.size).toBeGreaterThan(25);
    const listed = readFileSync(PAGE, 'utf8');
    expect([...codes].filter((code) => !listed.includes(`\`${code}\``))).toEqual([]);
  });

  it('lists what is recorded of steps', () => {
    const listed = readFileSync(PAGE, 'utf8');
    for (const code of ['STEP_FAILED', 'OUTPUT_INVALID', 'TIMEOUT', 'NO_HANDLER'])
      expect(listed).toContain(`\`${code}\``);
  });
});
