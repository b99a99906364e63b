import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AuthVerifier, requireRole } from '@baton/platform';
import { HttpProblem } from './problem.js';
import { type RequestBody, setContext, contextOf } from './request-context.js';

type Next = (error?: unknown) => void;
export type Middleware = (request: IncomingMessage, response: ServerResponse, next: Next) => void;

/** Whole request bodies. A payload is at most 1 MiB; a definition of 10,000 nodes is larger. */
export const MAX_BODY_BYTES = 5 * 1024 * 1024;

/** First of all: an id for the log and the caller, and a signal that ends upstream calls nobody waits for. */
export const openContext: Middleware = (request, response, next) => {
  const given = request.headers['x-request-id'];
  const requestId = typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
  const abort = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) abort.abort();
  });
  response.setHeader('x-request-id', requestId);
  setContext(request, {
    requestId,
    authorization: request.headers.authorization,
    signal: abort.signal,
    principal: undefined,
    body: undefined,
  });
  next();
};

/** What strangers may read. Compared with the request line as it came: another spelling of it needs a credential. */
const PUBLIC_TARGETS = new Set(['/openapi.json']);

/** Everything else needs a caller with the role client or admin, also what does not exist. */
export function authenticate(verifier: AuthVerifier): Middleware {
  return (request, _response, next) => {
    if (PUBLIC_TARGETS.has(request.url ?? '')) return next();
    const context = contextOf(request);
    try {
      const principal = verifier.authenticate(context.authorization);
      requireRole(principal, ['client']);
      context.principal = principal;
    } catch (error) {
      return next(error);
    }
    next();
  };
}

/** Reads a body whole, as bytes: what it means is for the route to say. */
export const readBody: Middleware = (request, _response, next) => {
  if (request.method === 'GET' || request.method === 'HEAD') return next();
  collect(request).then(
    (body) => {
      contextOf(request).body = body;
      next();
    },
    (error: unknown) => next(error),
  );
};

async function collect(request: IncomingMessage): Promise<RequestBody> {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw new HttpProblem(415, 'UNSUPPORTED_CONTENT_ENCODING', `the content encoding ${encoding} is not supported`);
  }
  // Node reads and drops what is left of a refused body, so that the client gets to read the answer.
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw bodyTooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  await new Promise<void>((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) reject(bodyTooLarge());
      else chunks.push(chunk);
    });
    request.on('end', resolve);
    request.on('error', reject);
    request.on('close', () => reject(new HttpProblem(400, 'BODY_INCOMPLETE', 'the request ended before its body')));
  });
  return { bytes: Buffer.concat(chunks), mediaType: mediaTypeOf(request) };
}

function bodyTooLarge(): HttpProblem {
  return new HttpProblem(413, 'BODY_TOO_LARGE', `the body is larger than ${MAX_BODY_BYTES} bytes`);
}

function mediaTypeOf(request: IncomingMessage): string | undefined {
  const header = request.headers['content-type'];
  if (header === undefined || header.trim() === '') return undefined;
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters
    .find((part) => part.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') {
    throw new HttpProblem(415, 'UNSUPPORTED_CHARSET', `the charset ${charset} is not supported; send UTF-8`);
  }
  return type;
}
