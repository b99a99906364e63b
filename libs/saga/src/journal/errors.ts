/** Why a call of the journal, the client or the runtime was refused. `code` is stable and documented. */
export type SagaErrorKind = 'invalid' | 'not-found' | 'conflict' | 'unavailable' | 'deadline' | 'internal';

export interface SagaErrorDetail {
  /** JSON pointer to what is wrong. */
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

export class SagaError extends Error {
  readonly details: readonly SagaErrorDetail[];

  constructor(
    readonly kind: SagaErrorKind,
    readonly code: string,
    message: string,
    more: { readonly details?: readonly SagaErrorDetail[]; readonly cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'SagaError';
    this.details = more.details ?? [];
  }
}
