import { ApiError, type ErrorDetail, type ErrorKind, type ErrorShape } from '@baton/wire';

/** A mistake that HTTP itself knows a status for; everything else is an ApiError of some kind. */
export class HttpProblem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly options: {
      readonly details?: readonly ErrorDetail[];
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(message);
    this.name = 'HttpProblem';
  }
}

export function invalid(details: readonly ErrorDetail[]): ApiError {
  const text = details.map((detail) => `${detail.pointer}: ${detail.message}`).join('; ');
  return new ApiError('invalid', 'INVALID_ARGUMENT', text, details);
}

const statusOfKind: Readonly<Record<ErrorKind, number>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  conflict: 409,
  precondition: 409,
  'too-large': 413,
  unavailable: 503,
  internal: 500,
};

/** The same key with another request is not a conflict of state: no retry will help. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = { IDEMPOTENCY_MISMATCH: 422 };

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Unauthenticated',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timeout',
  409: 'Conflict',
  413: 'Too large',
  415: 'Unsupported media type',
  422: 'Idempotency mismatch',
  431: 'Headers too large',
  500: 'Internal error',
  503: 'Unavailable',
};

export interface ProblemReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** Nobody planned for it: worth an error line in the log. */
  readonly unexpected: boolean;
}

export interface RefusedRequest {
  readonly method: string;
  readonly path: string;
  readonly requestId: string;
}

/** RFC 9457. Stacks and causes stay in the log (B112). */
export function toProblem(error: unknown, request: RefusedRequest): ProblemReply {
  const { status, code, message, details, headers, unexpected } = describe(error, request.method);
  return {
    status,
    unexpected,
    headers: { ...headers, ...standardHeaders(status) },
    body: {
      type: `urn:baton:error:${code}`,
      title: TITLES[status] ?? 'Error',
      status,
      detail: message,
      instance: request.path,
      code,
      requestId: request.requestId,
      retryable: status === 503,
      errors: details,
    },
  };
}

interface Described {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
  readonly headers: Readonly<Record<string, string>>;
  readonly unexpected: boolean;
}

function describe(error: unknown, method: string): Described {
  if (error instanceof HttpProblem) {
    const { details = [], headers = {} } = error.options;
    return { status: error.status, code: error.code, message: error.message, details, headers, unexpected: false };
  }
  if (isErrorShape(error)) {
    const status = STATUS_OF_CODE[error.code] ?? statusOfKind[error.kind];
    const details = error.details.map((detail) => publicDetail(error.code, detail, method));
    // An unknown error of a service behind keeps its text in that service's log.
    const message = error.kind === 'internal' ? 'internal error' : error.message;
    return { status, code: error.code, message, details, headers: {}, unexpected: error.kind === 'internal' };
  }
  return { status: 500, code: 'INTERNAL', message: 'internal error', details: [], headers: {}, unexpected: true };
}

function standardHeaders(status: number): Record<string, string> {
  if (status === 503) return { 'retry-after': '1' };
  if (status === 401) return { 'www-authenticate': 'Bearer realm="baton"' };
  return {};
}

function isErrorShape(error: unknown): error is ErrorShape {
  if (typeof error !== 'object' || error === null) return false;
  const { kind, code, details } = error as Partial<ErrorShape>;
  return typeof kind === 'string' && kind in statusOfKind && typeof code === 'string' && Array.isArray(details);
}

/** Pointers of the services behind, as pointers into what the caller sent. */
function publicDetail(code: string, detail: ErrorDetail, method: string): ErrorDetail {
  const at = detail.pointer;
  // Into the input of the run, which is a member of the body.
  if (code === 'INPUT_INVALID') return { ...detail, pointer: `/input${at}` };
  if (code === 'STARTED_AT_OUT_OF_RANGE') return { ...detail, pointer: '/startedAt' };
  if (code === 'DEFINITION_INVALID' || at === '' || /^\/(query|path|header)\//.test(at)) return detail;
  // The name of a signal; no body has such a member.
  if (at === '/name') return { ...detail, pointer: '/path/name' };
  // Into a proto message: /definition_id is /definitionId.
  const pointer = at.replace(/(?<=[a-z0-9])_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
  return { ...detail, pointer: method === 'GET' ? `/query${pointer}` : pointer };
}
