import type { ServerResponse } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import { type JsonOut, toJsonText } from './json-out.js';

/** What a controller answers. */
export interface Reply {
  readonly status: number;
  readonly body: JsonOut;
  readonly headers?: Readonly<Record<string, string>>;
}

export function ok(body: JsonOut, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status: 200, body, headers };
}

export const REPLAYED = { 'idempotency-replayed': 'true' } as const;

/** Writes the text itself: Nest would parse and print payloads, and lose digits. */
@Injectable()
export class ReplyInterceptor implements NestInterceptor<Reply, string> {
  intercept(context: ExecutionContext, next: CallHandler<Reply>): Observable<string> {
    const response = context.switchToHttp().getResponse<ServerResponse>();
    return next.handle().pipe(
      map((reply) => {
        response.statusCode = reply.status;
        response.setHeader('content-type', 'application/json; charset=utf-8');
        for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
        return toJsonText(reply.body);
      }),
    );
  }
}
