/**
 * Errors over gRPC: a status code, the stable code in the trailer `baton-code`, and the whole of it as JSON in
 * `baton-error-bin`. Written by the coordinator and the registry, read back by the gateway, the CLI and workers.
 */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'precondition'
  | 'too-large'
  | 'unavailable'
  | 'internal';

export interface ErrorDetail {
  /** JSON pointer into what was sent; '' = all of it. */
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

export interface ErrorShape {
  readonly kind: ErrorKind;
  readonly code: string;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
}

/** An error of the API, on either side of the wire. */
export class ApiError extends Error implements ErrorShape {
  constructor(
    readonly kind: ErrorKind,
    readonly code: string,
    message: string,
    readonly details: readonly ErrorDetail[] = [],
  ) {
    super(message);
    this.name = 'ApiError';
  }

  /** The same error, with what lies behind it: for logs, never for callers. */
  because(cause: unknown): this {
    this.cause = cause;
    return this;
  }
}

export const ERROR_CODE_KEY = 'baton-code';
export const ERROR_BODY_KEY = 'baton-error-bin';

/** gRPC status codes that we give out or tell apart. */
export const GRPC = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

const statusOfKind = {
  invalid: GRPC.INVALID_ARGUMENT,
  unauthenticated: GRPC.UNAUTHENTICATED,
  forbidden: GRPC.PERMISSION_DENIED,
  'not-found': GRPC.NOT_FOUND,
  conflict: GRPC.ALREADY_EXISTS,
  precondition: GRPC.FAILED_PRECONDITION,
  'too-large': GRPC.RESOURCE_EXHAUSTED,
  unavailable: GRPC.UNAVAILABLE,
  internal: GRPC.INTERNAL,
} satisfies Record<ErrorKind, number>;

const kindOfStatus = new Map<number, ErrorKind>([
  ...(Object.entries(statusOfKind) as [ErrorKind, number][]).map(([kind, status]) => [status, kind] as const),
  // Made by gRPC itself, or by a proxy on the way; all say "not now".
  [GRPC.DEADLINE_EXCEEDED, 'unavailable'],
  [GRPC.CANCELLED, 'unavailable'],
  [GRPC.ABORTED, 'unavailable'],
]);

export function grpcStatusOf(kind: ErrorKind): number {
  return statusOfKind[kind];
}

/** Structure of grpc-js's Metadata, so that this library needs no gRPC runtime. */
export interface MetadataReader {
  get(key: string): (string | Uint8Array)[];
}

export interface MetadataWriter {
  set(key: string, value: string | Buffer): void;
}

/** HTTP/2 header blocks are bounded (64 KiB in Node, less in proxies): a long list of details is cut with a note. */
const MAX_BODY_BYTES = 24 * 1024;
const MAX_MESSAGE_CHARS = 2_000;

export interface GrpcError<M extends MetadataWriter> {
  readonly code: number;
  readonly message: string;
  readonly details: string;
  readonly metadata: M;
}

/** What a gRPC handler answers with. The caller brings an empty Metadata. */
export function toGrpcError<M extends MetadataWriter>(error: ErrorShape, metadata: M): GrpcError<M> {
  const message = error.message.slice(0, MAX_MESSAGE_CHARS);
  metadata.set(ERROR_CODE_KEY, error.code);
  metadata.set(ERROR_BODY_KEY, encodeErrorBody({ code: error.code, message, details: error.details }));
  return { code: grpcStatusOf(error.kind), message, details: message, metadata };
}

export function encodeErrorBody(body: Omit<ErrorShape, 'kind'>): Buffer {
  let details: ErrorDetail[] = [];
  let bytes = 0;
  for (const detail of body.details) {
    bytes += Buffer.byteLength(JSON.stringify(detail)) + 1;
    if (bytes > MAX_BODY_BYTES) {
      const left = body.details.length - details.length;
      details = [...details, { pointer: '', code: 'MORE', message: `and ${left} more` }];
      break;
    }
    details.push(detail);
  }
  return Buffer.from(JSON.stringify({ code: body.code, message: body.message, details }));
}

/** Reads what a gRPC client caught back into an ApiError. Anything that is not a gRPC error becomes `internal`. */
export function fromGrpcError(caught: unknown): ApiError {
  if (caught instanceof ApiError) return caught;
  const { code, details, message, metadata } = (caught ?? {}) as {
    code?: unknown;
    details?: unknown;
    message?: unknown;
    metadata?: unknown;
  };
  const text = typeof details === 'string' && details !== '' ? details : String(message ?? caught);
  const kind = (typeof code === 'number' ? kindOfStatus.get(code) : undefined) ?? 'internal';
  const reader = isReader(metadata) ? metadata : undefined;
  const body = reader ? decodeErrorBody(reader.get(ERROR_BODY_KEY)[0]) : undefined;
  if (body) return new ApiError(kind, body.code, body.message, body.details).because(caught);
  const stable = reader?.get(ERROR_CODE_KEY)[0];
  const fallback = typeof stable === 'string' ? stable : defaultCode(kind, code);
  return new ApiError(kind, fallback, text).because(caught);
}

function isReader(value: unknown): value is MetadataReader {
  return typeof value === 'object' && value !== null && typeof (value as MetadataReader).get === 'function';
}

function decodeErrorBody(raw: string | Uint8Array | undefined): Omit<ErrorShape, 'kind'> | undefined {
  if (raw === undefined) return undefined;
  try {
    const body = JSON.parse(typeof raw === 'string' ? raw : Buffer.from(raw).toString('utf8')) as Partial<ErrorShape>;
    if (typeof body.code !== 'string' || typeof body.message !== 'string') return undefined;
    return { code: body.code, message: body.message, details: Array.isArray(body.details) ? body.details : [] };
  } catch {
    return undefined;
  }
}

function defaultCode(kind: ErrorKind, status: unknown): string {
  if (status === GRPC.DEADLINE_EXCEEDED) return 'TIMEOUT';
  return kind.toUpperCase().replaceAll('-', '_');
}
