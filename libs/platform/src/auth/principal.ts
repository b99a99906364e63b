export type Role = 'admin' | 'client' | 'worker';

/** Who calls. The namespace of every command comes from here and from nowhere else (R28). */
export interface Principal {
  readonly namespace: string;
  readonly role: Role;
  /** Safe to log: the id of the key, never the key. */
  readonly keyId: string;
}

/** A caller that is not known, or may not do this. */
export class AuthError extends Error {
  readonly details: readonly never[] = [];

  constructor(
    readonly kind: 'unauthenticated' | 'forbidden',
    message: string,
  ) {
    super(message);
    this.name = 'AuthError';
  }

  get code(): 'UNAUTHENTICATED' | 'FORBIDDEN' {
    return this.kind === 'unauthenticated' ? 'UNAUTHENTICATED' : 'FORBIDDEN';
  }
}

/** An admin key may do everything in its namespace. */
export function requireRole(principal: Principal, allowed: readonly Role[]): void {
  if (principal.role === 'admin' || allowed.includes(principal.role)) return;
  throw new AuthError(
    'forbidden',
    `a ${principal.role} key may not do this; it needs the role ${allowed.join(' or ')}`,
  );
}
