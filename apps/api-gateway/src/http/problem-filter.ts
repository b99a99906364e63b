import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, NotFoundException } from '@nestjs/common';
import type { Logger } from '@baton/platform';
import { HttpProblem, type ProblemReply, toProblem } from './problem.js';
import { findContext } from './request-context.js';
import { allowedMethods } from './routes.js';

/** Every error leaves as problem+json with a stable code: mistakes in the request, refusals from behind, bugs. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(caught: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(caught, http.getRequest<IncomingMessage>(), http.getResponse<ServerResponse>());
  }

  private answer(caught: unknown, request: IncomingMessage, response: ServerResponse): void {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const requestId = findContext(request)?.requestId ?? '';
    const method = request.method ?? 'GET';
    const problem = toProblem(translate(caught, method, path), { method, path, requestId });
    if (problem.unexpected) this.logger.error({ err: caught, request_id: requestId }, 'unexpected error in a request');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    write(response, problem);
  }
}

function write(response: ServerResponse, problem: ProblemReply): void {
  response.statusCode = problem.status;
  for (const [name, value] of Object.entries(problem.headers)) response.setHeader(name, value);
  response.setHeader('content-type', 'application/problem+json');
  response.end(JSON.stringify(problem.body));
}

/** Errors that Nest and Express make themselves. */
function translate(caught: unknown, method: string, path: string): unknown {
  if (caught instanceof NotFoundException) return routeProblem(method, path);
  if (caught instanceof HttpException) {
    const status = caught.getStatus();
    const message = caught.message;
    if (/decode param/.test(message)) return new HttpProblem(400, 'BAD_PATH', 'the path has a broken percent encoding');
    if (status === 400) return new HttpProblem(400, 'BAD_REQUEST', message);
    if (status < 500) return new HttpProblem(status, 'REQUEST_REFUSED', message);
  }
  return caught;
}

function routeProblem(method: string, path: string): HttpProblem {
  const allowed = allowedMethods(path);
  if (allowed.length === 0) {
    return new HttpProblem(404, 'ROUTE_NOT_FOUND', `there is nothing at ${path}; see /openapi.json`);
  }
  const list = allowed.join(', ');
  return new HttpProblem(405, 'METHOD_NOT_ALLOWED', `${method} is not allowed at ${path}; allowed: ${list}`, {
    headers: { allow: list },
  });
}
