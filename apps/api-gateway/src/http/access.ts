import type { Platform } from '@baton/platform';
import type { Middleware } from './middleware.js';
import { findContext } from './request-context.js';
import { routeTemplate } from './routes.js';

/** One log line and one measurement for each answer, labelled by route, never by path (B123). */
export function observeRequests(platform: Platform): Middleware {
  const duration = platform.metrics.histogram({
    name: 'http_request_duration_seconds',
    help: 'time from the request line to the end of the answer',
    labels: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
  });
  return (request, response, next) => {
    const startedAt = performance.now();
    response.on('close', () => {
      const seconds = (performance.now() - startedAt) / 1000;
      const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
      const method = knownMethod(request.method);
      const route = routeTemplate(method, path);
      // The caller went away first: no answer was given, whatever its status would have been.
      const status = response.writableFinished ? response.statusCode : CLIENT_CLOSED_REQUEST;
      duration.observe({ method, route, status: String(status) }, seconds);
      const context = findContext(request);
      platform.logger.info(
        {
          request_id: context?.requestId,
          method,
          route,
          status,
          took_ms: Math.round(seconds * 1000),
          key_id: context?.principal?.keyId,
          run_id: runIdIn(path),
        },
        'request',
      );
    });
    next();
  };
}

/** Not a status of HTTP, but what proxies write into their logs for this. */
const CLIENT_CLOSED_REQUEST = 499;

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function knownMethod(method: string | undefined): string {
  return method !== undefined && METHODS.has(method) ? method : 'OTHER';
}

function runIdIn(path: string): string | undefined {
  return /^\/v1\/runs\/([0-9a-fA-F-]{36})(?:[/:]|$)/.exec(path)?.[1];
}
