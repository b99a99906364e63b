import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..', '..');

function sources(folder: string): string {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(
      (name) => name.endsWith('.ts') && !name.endsWith('.spec.ts') && !/(^|\/)(dist|testing|node_modules)\//.test(name),
    )
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'))
    .join('\n');
}

const reference = (name: string) => readFileSync(join(ROOT, 'docs', 'reference', name), 'utf8');

describe('the reference', () => {
  it('lists every code that an edge can answer with', () => {
    const text = [
      'libs/engine/src',
      'libs/storage-postgres/src',
      'libs/wire/src',
      'apps/api-gateway/src',
      'apps/coordinator/src',
      'apps/definition-registry/src',
    ]
      .map(sources)
      .join('\n');
    const made = text.matchAll(/(?:EngineError|ApiError|HttpProblem)\(\s*(?:'[a-z-]+'|\d+),\s*'([A-Z][A-Z0-9_]+)'/g);
    const checks = text.matchAll(/\binvalid\('([A-Z][A-Z0-9_]+)'/g);
    const codes = new Set([...made, ...checks].map(([, code]) => code ?? ''));
    expect(codes.size).toBeGreaterThan(20);
    const listed = reference('errors.md');
    expect([...codes].filter((code) => !listed.includes(`\`${code}\``))).toEqual([]);
  });

  it('lists every setting of every service', () => {
    const text = [
      'libs/platform/src/config',
      'apps/api-gateway/src',
      'apps/coordinator/src',
      'apps/definition-registry/src',
      'apps/outbox-relay/src',
      'apps/timer-service/src',
    ]
      .map(sources)
      .join('\n');
    const variables = new Set([...text.matchAll(/'(BATON_[A-Z_]+)'/g)].map(([, name]) => name ?? ''));
    expect(variables.size).toBeGreaterThan(15);
    const listed = reference('configuration.md');
    expect([...variables].filter((name) => !listed.includes(`\`${name}\``))).toEqual([]);
  });
});
