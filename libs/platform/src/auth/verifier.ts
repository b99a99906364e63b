import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { Logger } from 'pino';
import { explainKeyFileError, KeyRing } from './key-file.js';
import { AuthError, type Principal } from './principal.js';

export interface AuthSettings {
  readonly auth: 'none' | 'api-key';
  readonly apiKeysFile: string | undefined;
  readonly nodeEnv: string;
}

/** Answers "who is this?" for one credential. Synchronous: keys are in memory. */
export interface AuthVerifier {
  readonly mode: 'none' | 'api-key';
  /** `authorization` is the whole header value. Throws AuthError. */
  authenticate(authorization: string | undefined): Principal;
  close(): void;
}

const RELOAD_CHECK_MS = 2_000;
const DEVELOPMENT: Principal = { namespace: 'default', role: 'admin', keyId: 'none' };

/** Problems of the authentication settings, found before anything starts. */
export function checkAuthSettings(settings: AuthSettings): readonly string[] {
  if (settings.auth === 'none') {
    return settings.nodeEnv === 'production'
      ? ['BATON_AUTH: none is for development; with NODE_ENV=production set api-key and BATON_API_KEYS_FILE']
      : [];
  }
  if (settings.apiKeysFile === undefined) return ['BATON_API_KEYS_FILE: is not set; BATON_AUTH=api-key needs it'];
  try {
    KeyRing.parse(readFileSync(settings.apiKeysFile, 'utf8'));
    return [];
  } catch (error) {
    return [`BATON_API_KEYS_FILE: ${explainKeyFileError(error)}`];
  }
}

export function createAuthVerifier(settings: AuthSettings, logger: Logger): AuthVerifier {
  if (settings.auth === 'none' || settings.apiKeysFile === undefined) {
    return { mode: 'none', authenticate: () => DEVELOPMENT, close: () => undefined };
  }
  return new ApiKeyVerifier(settings.apiKeysFile, logger);
}

class ApiKeyVerifier implements AuthVerifier {
  readonly mode = 'api-key';
  private ring: KeyRing;

  constructor(
    private readonly file: string,
    private readonly logger: Logger,
  ) {
    this.ring = KeyRing.parse(readFileSync(file, 'utf8'));
    // Polling, because mounted secrets are replaced by a change of a symbolic link.
    watchFile(file, { interval: RELOAD_CHECK_MS, persistent: false }, () => this.reload());
  }

  authenticate(authorization: string | undefined): Principal {
    if (authorization === undefined || authorization === '') {
      throw new AuthError('unauthenticated', 'no credential: send authorization: Bearer <key>');
    }
    const key = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
    const principal = key === undefined ? undefined : this.ring.find(key);
    // One answer for every cause: which key ids exist is nobody's business.
    if (principal === undefined) throw new AuthError('unauthenticated', 'the credential is not valid');
    return principal;
  }

  close(): void {
    unwatchFile(this.file);
  }

  /** A file that cannot be read keeps the keys that were valid: a bad edit must not lock everybody out. */
  private reload(): void {
    try {
      this.ring = KeyRing.parse(readFileSync(this.file, 'utf8'));
      this.logger.info({ keys: this.ring.size }, 'API keys were read again');
    } catch (error) {
      this.logger.error(
        { reason: explainKeyFileError(error) },
        'the changed API key file is not usable; the old keys stay',
      );
    }
  }
}
