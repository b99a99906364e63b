import type { IncomingMessage } from 'node:http';
import type { Principal } from '@baton/platform';
import type { CallContext } from '../upstream/unary.js';

/** What the middleware found out about a request. */
export interface RequestContext extends CallContext {
  principal: Principal | undefined;
  body: RequestBody | undefined;
}

export interface RequestBody {
  readonly bytes: Buffer;
  /** Lower case, without parameters; undefined = no header. */
  readonly mediaType: string | undefined;
}

const contexts = new WeakMap<IncomingMessage, RequestContext>();

export function setContext(request: IncomingMessage, context: RequestContext): void {
  contexts.set(request, context);
}

export function contextOf(request: IncomingMessage): RequestContext {
  const context = contexts.get(request);
  if (context === undefined) throw new Error('the gateway middleware did not run for this request');
  return context;
}

export function findContext(request: IncomingMessage): RequestContext | undefined {
  return contexts.get(request);
}
