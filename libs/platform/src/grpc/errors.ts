import type { Metadata } from '@grpc/grpc-js';

/** What grpc-js sends for a failed call. */
export interface GrpcErrorReply {
  readonly code: number;
  readonly message: string;
  readonly details: string;
  readonly metadata: Metadata;
}

/**
 * Turns what a handler threw into status and trailers. Written by the app over `@baton/wire` (`toGrpcError`), since this
 * library knows no error of the domain; AuthError has the shape that wire expects.
 * undefined = not an error that callers may know about: they hear INTERNAL, the log gets the rest (B112).
 */
export type GrpcErrorMapper = (error: unknown, metadata: Metadata) => GrpcErrorReply | undefined;

export const INTERNAL_ERROR = { kind: 'internal', code: 'INTERNAL', message: 'internal error', details: [] } as const;
