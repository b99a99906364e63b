/** Every route: what the OpenAPI document lists, what 405 answers name, what the metrics are labelled with. */
export const ROUTES = [
  ['POST', '/v1/definitions'],
  ['GET', '/v1/definitions'],
  ['POST', '/v1/definitions:validate'],
  ['GET', '/v1/definitions/{definitionId}'],
  ['GET', '/v1/definitions/{definitionId}/versions'],
  ['GET', '/v1/definitions/{definitionId}/versions/{version}'],
  ['DELETE', '/v1/definitions/{definitionId}/versions/{version}'],
  ['POST', '/v1/definitions/{definitionId}/versions/{version}:deploy'],
  ['POST', '/v1/definitions/{definitionId}/versions/{version}/deploy'],
  ['POST', '/v1/runs'],
  ['GET', '/v1/runs'],
  ['GET', '/v1/runs/{runId}'],
  ['GET', '/v1/runs/{runId}/result'],
  ['GET', '/v1/runs/{runId}/history'],
  ['POST', '/v1/runs/{runId}/signals/{name}'],
  ['POST', '/v1/runs/{runId}:cancel'],
  ['POST', '/v1/runs/{runId}/cancel'],
  ['POST', '/v1/runs/{runId}:retry'],
  ['POST', '/v1/runs/{runId}/retry'],
  ['POST', '/v1/runs/{runId}:retry-compensation'],
  ['POST', '/v1/runs/{runId}/retry-compensation'],
  ['GET', '/openapi.json'],
] as const;

export type RouteTemplate = (typeof ROUTES)[number][1];
type KeyOf<R> = R extends readonly [infer Method extends string, infer Path extends string]
  ? `${Method} ${Path}`
  : never;
export type RouteKey = KeyOf<(typeof ROUTES)[number]>;

interface CompiledRoute {
  readonly method: string;
  readonly template: RouteTemplate;
  readonly pattern: RegExp;
}

/** Without regard to case, as the router matches. */
const compiled: readonly CompiledRoute[] = ROUTES.map(([method, template]) => ({
  method,
  template,
  pattern: new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+?')}/?$`, 'i'),
}));

/** Methods that exist at a path; empty = there is no such path. */
export function allowedMethods(path: string): readonly string[] {
  return [...new Set(compiled.filter((route) => route.pattern.test(path)).map((route) => route.method))];
}

/** Template of the route that answers; a fixed set, safe as a metric label (B123). The last match is the most exact. */
export function routeTemplate(method: string, path: string): RouteTemplate | 'unmatched' {
  const wanted = method === 'HEAD' ? 'GET' : method;
  return compiled.findLast((route) => route.method === wanted && route.pattern.test(path))?.template ?? 'unmatched';
}
