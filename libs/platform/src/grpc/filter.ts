import { Metadata, status } from '@grpc/grpc-js';
import { Catch, type ExceptionFilter } from '@nestjs/common';
import type { Logger } from 'pino';
import { type Observable, throwError } from 'rxjs';
import { type GrpcErrorMapper, type GrpcErrorReply, INTERNAL_ERROR } from './errors.js';

/** Global: without it every code degrades to UNKNOWN (B112). */
@Catch()
export class GrpcErrorFilter implements ExceptionFilter {
  constructor(
    private readonly mapper: GrpcErrorMapper,
    private readonly logger: Logger,
  ) {}

  catch(error: unknown): Observable<never> {
    const reply = this.reply(error);
    return throwError(() => reply);
  }

  /** Also for streams, whose handlers answer errors themselves. */
  reply(error: unknown): GrpcErrorReply {
    const known = this.mapper(error, new Metadata());
    if (known !== undefined) return known;
    this.logger.error({ err: error }, 'unexpected error in a gRPC call');
    const metadata = new Metadata();
    const { message } = INTERNAL_ERROR;
    return this.mapper(INTERNAL_ERROR, metadata) ?? { code: status.INTERNAL, message, details: message, metadata };
  }
}
