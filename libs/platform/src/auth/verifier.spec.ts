import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { AuthError, requireRole } from './principal.js';
import { type AuthVerifier, checkAuthSettings, createAuthVerifier } from './verifier.js';

const lines: string[] = [];
const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const entry = (id: string, key: string, fields = {}) => ({
  id,
  sha256: sha256(key),
  namespace: 'shop',
  role: 'client',
  ...fields,
});

describe('API keys', () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-auth-'));
  const file = join(folder, 'keys.json');
  const open: AuthVerifier[] = [];
  const settings = { auth: 'api-key', apiKeysFile: file, nodeEnv: 'production' } as const;

  afterAll(() => {
    for (const verifier of open) verifier.close();
    rmSync(folder, { recursive: true });
  });

  function verifier(entries: unknown): AuthVerifier {
    writeFileSync(file, JSON.stringify(entries));
    const made = createAuthVerifier(settings, logger);
    open.push(made);
    return made;
  }

  it('knows a key by its id and its hash, and gives its namespace and role', () => {
    const auth = verifier([
      entry('k1', 'bk_k1_s3cret'),
      entry('k2', 'bk_k2_other', { namespace: 'bank', role: 'worker' }),
    ]);
    expect(auth.authenticate('Bearer bk_k1_s3cret')).toEqual({ namespace: 'shop', role: 'client', keyId: 'k1' });
    expect(auth.authenticate('bearer  bk_k2_other')).toEqual({ namespace: 'bank', role: 'worker', keyId: 'k2' });
  });

  it.each([
    undefined,
    '',
    'bk_k1_s3cret',
    'Basic bk_k1_s3cret',
    'Bearer',
    'Bearer bk_k1_wrong',
    'Bearer bk_zz_s3cret',
    'Bearer bk_k1_s3cret x',
  ])('does not know %p', (authorization) => {
    const auth = verifier([entry('k1', 'bk_k1_s3cret')]);
    expect(() => auth.authenticate(authorization)).toThrow(AuthError);
    expect(() => auth.authenticate(authorization)).toThrow(expect.objectContaining({ code: 'UNAUTHENTICATED' }));
  });

  it('reads a changed file again, and keeps the old keys when the new file is broken', async () => {
    const auth = verifier([entry('k1', 'bk_k1_old')]);
    const seen = (key: string) => {
      try {
        return auth.authenticate(`Bearer ${key}`).keyId;
      } catch {
        return undefined;
      }
    };
    const change = (text: string) => {
      writeFileSync(file, text);
      utimesSync(file, new Date(), new Date(Date.now() + 60_000));
    };
    change(JSON.stringify([entry('k2', 'bk_k2_new')]));
    while (seen('bk_k2_new') === undefined) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen('bk_k1_old')).toBeUndefined();
    change('{ broken');
    while (!lines.some((line) => line.includes('not usable'))) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen('bk_k2_new')).toBe('k2');
  }, 15_000);

  it('says what is wrong with a file before anything starts', () => {
    const check = (text: string) => {
      writeFileSync(file, text);
      return checkAuthSettings(settings).join();
    };
    expect(check('[]')).toBe('');
    expect(check('{')).toContain('not JSON');
    expect(check(JSON.stringify([{ id: 'a', sha256: 'x', namespace: 'A.b', role: 'king', extra: 1 }]))).toMatch(
      /\/0\/sha256.*\/0\/namespace.*\/0\/role/,
    );
    expect(check(JSON.stringify([entry('a', 'x'), entry('a', 'y')]))).toContain('key id a stands twice');
    expect(checkAuthSettings({ ...settings, apiKeysFile: undefined }).join()).toContain('BATON_API_KEYS_FILE');
    expect(checkAuthSettings({ ...settings, apiKeysFile: join(folder, 'absent') }).join()).toContain('ENOENT');
  });

  it('refuses none in production, and takes everybody for the namespace default elsewhere', () => {
    expect(checkAuthSettings({ auth: 'none', apiKeysFile: undefined, nodeEnv: 'production' })).toHaveLength(1);
    expect(checkAuthSettings({ auth: 'none', apiKeysFile: undefined, nodeEnv: 'development' })).toEqual([]);
    const auth = createAuthVerifier({ auth: 'none', apiKeysFile: undefined, nodeEnv: 'development' }, logger);
    expect(auth.authenticate(undefined)).toEqual({ namespace: 'default', role: 'admin', keyId: 'none' });
  });

  it('lets an admin do everything and others what their role may', () => {
    const principal = (role: 'admin' | 'client' | 'worker') => ({ namespace: 'n', role, keyId: 'k' });
    expect(() => requireRole(principal('admin'), ['worker'])).not.toThrow();
    expect(() => requireRole(principal('worker'), ['worker'])).not.toThrow();
    expect(() => requireRole(principal('worker'), ['client'])).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
  });
});
