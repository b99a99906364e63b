import { packagesMatch, type LockedPackage } from './lockfiles.ts';

const lock = (packages: Record<string, LockedPackage>): { packages: Record<string, LockedPackage> } => ({ packages });
const a = { version: '1.0.0', integrity: 'sha512-a' };

describe('installed packages match the lock file', () => {
  it('when all are there in the same version', () => {
    const wanted = lock({ '': {}, 'libs/core': { version: '0.1.0' }, 'node_modules/a': a });
    expect(packagesMatch(wanted, lock({ 'node_modules/a': a }))).toBe(true);
  });

  it('when an optional one, for another system, lacks', () => {
    const wanted = lock({ 'node_modules/a': a, 'node_modules/a-darwin': { ...a, optional: true } });
    expect(packagesMatch(wanted, lock({ 'node_modules/a': a }))).toBe(true);
  });

  it('but not when one lacks, or has another version or content', () => {
    const wanted = lock({ 'node_modules/a': a });
    expect(packagesMatch(wanted, lock({}))).toBe(false);
    expect(packagesMatch(wanted, lock({ 'node_modules/a': { ...a, version: '1.0.1' } }))).toBe(false);
    expect(packagesMatch(wanted, lock({ 'node_modules/a': { ...a, integrity: 'sha512-b' } }))).toBe(false);
  });
});
