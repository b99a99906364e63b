import { z } from 'zod';
import { ROUTES, type RouteKey } from '../http/routes.js';
import { OPERATIONS, type Operation } from './operations.js';

type Json = Record<string, unknown>;

/** OpenAPI 3.1, from the schemas that check the requests: the document cannot say anything else than the code does. */
export function buildOpenApi(): Json {
  const components: Json = {};
  const paths: Record<string, Json> = {};
  for (const [method, path] of ROUTES) {
    const key = `${method} ${path}` as RouteKey;
    const operation = OPERATIONS[key];
    (paths[path] ??= {})[method.toLowerCase()] = describe(path, operation, components);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Baton',
      version: '1',
      description: 'Publish definitions, start runs, signal them, read what happened. Errors are RFC 9457 problems.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, bk_<id>_<secret>' } },
      schemas: components,
    },
  };
}

function describe(path: string, operation: Operation, components: Json): Json {
  const problem = reference(operation.problem, components);
  const responses: Json = Object.fromEntries(
    operation.answers.map(({ status, about, schema }) => [
      String(status),
      { description: about, content: { 'application/json': { schema: reference(schema, components) } } },
    ]),
  );
  responses['default'] = { description: 'Refused', content: { 'application/problem+json': { schema: problem } } };
  return {
    operationId: operation.id,
    summary: operation.summary,
    tags: [path.startsWith('/v1/runs') ? 'runs' : path.startsWith('/v1/definitions') ? 'definitions' : 'meta'],
    ...(path.startsWith('/v1') ? {} : { security: [] }),
    parameters: [...pathParameters(path), ...queryParameters(operation), ...headerParameters(operation)],
    ...(operation.body === undefined ? {} : { requestBody: operation.body(reference, components) }),
    responses,
  };
}

export type Reference = typeof reference;

/** A schema with an id becomes a component and a $ref. */
export function reference(schema: z.ZodType, components: Json): Json {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline', override }) as Json;
  const definitions = (json['$defs'] ?? {}) as Json;
  delete json['$defs'];
  delete json['$schema'];
  for (const [name, value] of Object.entries(definitions)) components[name] = rewriteRefs(value);
  const id = json['id'];
  if (typeof id !== 'string') return rewriteRefs(json) as Json;
  delete json['id'];
  components[id] = rewriteRefs(json);
  return { $ref: `#/components/schemas/${id}` };
}

/** Query values are text on the wire; what they mean is what readers want to know. */
function override(context: { zodSchema: z.core.$ZodTypes; jsonSchema: Json }): void {
  const meta = z.globalRegistry.get(context.zodSchema) as { override?: Json } | undefined;
  delete context.jsonSchema['override'];
  if (meta?.override === undefined) return;
  for (const name of Object.keys(context.jsonSchema)) delete context.jsonSchema[name];
  Object.assign(context.jsonSchema, meta.override);
}

function rewriteRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewriteRefs);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => name !== 'id' || typeof (value as Json)[name] !== 'string');
  return Object.fromEntries(
    entries.map(([name, member]) => [
      name,
      name === '$ref' && typeof member === 'string'
        ? member.replace('#/$defs/', '#/components/schemas/')
        : rewriteRefs(member),
    ]),
  );
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema:
      name === 'version'
        ? { type: 'integer', minimum: 1 }
        : name === 'runId'
          ? { type: 'string', format: 'uuid' }
          : { type: 'string' },
  }));
}

function queryParameters(operation: Operation): Json[] {
  if (operation.query === undefined) return [];
  const json = z.toJSONSchema(operation.query, { io: 'input', unrepresentable: 'any', override }) as Json;
  return Object.entries((json['properties'] ?? {}) as Json).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema,
  }));
}

function headerParameters(operation: Operation): Json[] {
  if (operation.idempotency === undefined) return [];
  return [
    {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description: operation.idempotency,
      schema: { type: 'string', maxLength: 255 },
    },
  ];
}
