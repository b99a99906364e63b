import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

/** ts-proto's static service map, e.g. `runV1.RunServiceService`. */
export type ServiceMap = Readonly<Record<string, { readonly path: string }>>;

type AnyMethod = MethodDefinition<unknown, unknown>;

/**
 * Nest looks RPCs up by their proto names (PascalCase), ts-proto's maps are keyed in camelCase: re-keyed by the last
 * part of the path. No .proto file is needed at run time. int64 stays a bigint.
 */
export function packageDefinitionOf(services: readonly ServiceMap[]): {
  readonly definition: Record<string, ServiceDefinition>;
  readonly packages: readonly string[];
  readonly names: readonly string[];
} {
  const definition: Record<string, ServiceDefinition> = {};
  const packages = new Set<string>();
  for (const service of services) {
    for (const method of Object.values(service)) {
      const [, serviceName, methodName] = method.path.split('/');
      if (serviceName === undefined || methodName === undefined) throw new Error(`not a gRPC path: ${method.path}`);
      packages.add(serviceName.slice(0, serviceName.lastIndexOf('.')));
      const methods = (definition[serviceName] ??= {}) as Record<string, AnyMethod>;
      methods[methodName] = method as AnyMethod;
    }
  }
  return { definition, packages: [...packages], names: Object.keys(definition) };
}
