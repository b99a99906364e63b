import type { CallOptions, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js';
import { callMetadata } from '@baton/platform';
import { ApiError, ERROR_CODE_KEY, fromGrpcError } from '@baton/wire';

/** What goes along with every call to another service. */
export interface CallContext {
  /** The caller's own credential: the service behind verifies it again. */
  readonly authorization: string | undefined;
  readonly requestId: string;
  /** Aborted when the HTTP client goes away. */
  readonly signal: AbortSignal;
}

export type UnaryMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

/** One gRPC call with a deadline; a failure comes back as ApiError with the service's own code. */
export async function callUnary<Request, Response>(
  method: UnaryMethod<Request, Response>,
  request: Request,
  context: CallContext,
  timeoutMs: number,
): Promise<Response> {
  const metadata = callMetadata(context.authorization, { 'x-request-id': context.requestId });
  return new Promise<Response>((resolve, reject) => {
    const options = { deadline: Date.now() + timeoutMs };
    const call = method(request, metadata, options, (error, response) => {
      context.signal.removeEventListener('abort', cancel);
      if (error === null) resolve(response);
      else reject(explain(error));
    });
    const cancel = (): void => call.cancel();
    context.signal.addEventListener('abort', cancel, { once: true });
  });
}

/** An error that gRPC made itself names addresses and sockets: callers hear what it means, the cause keeps the rest. */
function explain(error: ServiceError): ApiError {
  const known = fromGrpcError(error);
  if (error.metadata.get(ERROR_CODE_KEY).length > 0 || known.kind !== 'unavailable') return known;
  const message =
    known.code === 'TIMEOUT' ? 'the service behind did not answer in time' : 'the service behind cannot be reached';
  return new ApiError(known.kind, known.code, message).because(error);
}

/** How long an ordinary call may take, its repetitions included. */
export const CALL_TIMEOUT_MS = 15_000;
