import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Server } from '@grpc/grpc-js';
import { packageDefinitionOf, type ServiceMap } from './package-definition.js';

/** Beside the sources of the repository; a production image does not have it, and production has no reflection. */
const PROTO_ROOT = join(__dirname, '..', '..', '..', '..', 'proto');

/** Development only. Reflection needs file descriptors, which the static service maps do not hold. */
export function addReflection(server: Server, services: readonly ServiceMap[]): void {
  const files = packageDefinitionOf(services).packages.map((name) => protoFileOf(name));
  if (!existsSync(PROTO_ROOT) || files.some((file) => !existsSync(join(PROTO_ROOT, file)))) return;
  // Loaded here alone: production has no use for them.
  const load = createRequire(__filename);
  const loader = load('@grpc/proto-loader') as typeof import('@grpc/proto-loader');
  const { ReflectionService } = load('@grpc/reflection') as typeof import('@grpc/reflection');
  new ReflectionService(loader.loadSync(files, { includeDirs: [PROTO_ROOT], keepCase: true })).addToServer(server);
}

/** `baton.run.v1` lives in baton/run/v1/run.proto. */
function protoFileOf(packageName: string): string {
  const parts = packageName.split('.');
  return `${parts.join('/')}/${parts.at(-2) ?? ''}.proto`;
}
