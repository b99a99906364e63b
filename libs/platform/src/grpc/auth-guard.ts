import { Metadata } from '@grpc/grpc-js';
import { type CanActivate, type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { type Principal, requireRole, type Role } from '../auth/principal.js';
import type { AuthVerifier } from '../auth/verifier.js';

const ALLOWED_ROLES = 'baton:allowed-roles';
const NO_CREDENTIAL = 'baton:no-credential';

/** Roles that may call (admin always may). Without it any known caller may. */
export const AllowRoles = (...roles: Role[]) => SetMetadata(ALLOWED_ROLES, roles);

/** For calls between Baton's own services, on a port that no tenant reaches (R28). */
export const NoCredential = () => SetMetadata(NO_CREDENTIAL, true);

const principals = new WeakMap<Metadata, Principal>();

/** The caller of a gRPC method, from the metadata that Nest hands to it. */
export function principalOf(metadata: Metadata): Principal {
  const principal = principals.get(metadata);
  if (principal === undefined) throw new Error('the gRPC auth guard did not run for this call');
  return principal;
}

export function authorizationOf(metadata: Metadata): string | undefined {
  const value = metadata.get('authorization')[0];
  return value === undefined ? undefined : value.toString();
}

export class GrpcAuthGuard implements CanActivate {
  constructor(
    private readonly verifier: AuthVerifier,
    private readonly reflector: Reflector,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(NO_CREDENTIAL, targets) === true) return true;
    const metadata = metadataOf(context);
    const principal = this.verifier.authenticate(authorizationOf(metadata));
    const allowed = this.reflector.getAllAndOverride<Role[] | undefined>(ALLOWED_ROLES, targets);
    if (allowed !== undefined) requireRole(principal, allowed);
    principals.set(metadata, principal);
    return true;
  }
}

/** Unary handlers get (request, metadata, call); stream handlers get the call, which carries it. */
function metadataOf(context: ExecutionContext): Metadata {
  for (const argument of context.getArgs<unknown[]>()) {
    if (argument instanceof Metadata) return argument;
    const carried = (argument as { metadata?: unknown } | undefined)?.metadata;
    if (carried instanceof Metadata) return carried;
  }
  throw new Error('a gRPC call without metadata');
}
