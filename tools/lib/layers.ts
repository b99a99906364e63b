import type { Project } from './projects.ts';

// Who may import whom. One row per layer; a project has exactly one `layer:` tag and one `scope:` tag
// (tools/check-tags.ts), because a project that lacks one of the two would pass these rows in silence.

interface LayerRow {
  layer: string;
  /** Layers that it may import. */
  uses: string[];
  alsoTags?: string[];
  allowedExternalImports?: string[];
  bannedExternalImports?: string[];
}

const protobufRuntime = ['@bufbuild/protobuf', '@bufbuild/protobuf/*', '@grpc/grpc-js'];
const frameworks = ['@nestjs/*', 'nestjs-*'];
const databaseDrivers = ['pg', 'pg-*', 'typeorm'];

const rows: LayerRow[] = [
  { layer: 'core', uses: ['core'], allowedExternalImports: [] },
  { layer: 'contract', uses: [], allowedExternalImports: protobufRuntime },
  { layer: 'wire', uses: ['core', 'contract'], allowedExternalImports: protobufRuntime },
  {
    layer: 'application',
    uses: ['core', 'application'],
    bannedExternalImports: [...frameworks, ...databaseDrivers, 'kafkajs', '@grpc/*', 'rxjs'],
  },
  { layer: 'adapter', uses: ['core', 'application', 'wire', 'contract'], bannedExternalImports: frameworks },
  {
    layer: 'sdk',
    uses: ['core', 'application', 'adapter', 'sdk', 'wire', 'contract'],
    bannedExternalImports: frameworks,
  },
  { layer: 'platform', uses: ['core', 'sdk'], bannedExternalImports: [...databaseDrivers, 'kafkajs'] },
  { layer: 'tooling', uses: [], bannedExternalImports: frameworks },
  // Of the adapters the testkit may use the schema alone (`role:schema`): anything more would be a circle
  // with the adapters' own specs.
  { layer: 'testing', uses: ['core', 'tooling'], alsoTags: ['role:schema'] },
  { layer: 'app', uses: ['core', 'application', 'adapter', 'sdk', 'wire', 'contract', 'platform'] },
];

export const layerNames: readonly string[] = rows.map((row) => row.layer);

export interface FileKind {
  /** Layers that this kind of file may use on top of its project's row (specs: testing). */
  also?: string[];
  /** Tags that this kind of file may use besides layers (specs: the schema). */
  alsoTags?: string[];
  /** Lifts the limits on npm packages, which hold for shipped code. */
  anyPackage?: boolean;
}

export function layerConstraints({ also = [], alsoTags: more = [], anyPackage = false }: FileKind = {}): object[] {
  return rows.map(({ layer, uses, alsoTags = [], allowedExternalImports, bannedExternalImports }) => ({
    sourceTag: `layer:${layer}`,
    onlyDependOnLibsWithTags: [...[...uses, ...also].map((name) => `layer:${name}`), ...alsoTags, ...more],
    ...(!anyPackage && allowedExternalImports ? { allowedExternalImports } : {}),
    ...(!anyPackage && bannedExternalImports ? { bannedExternalImports } : {}),
  }));
}

/** Shared code uses shared code; an app uses shared code and its own. */
export function scopeConstraints(projects: Project[]): object[] {
  const scopes = new Set(projects.flatMap((project) => project.tags.filter((tag) => tag.startsWith('scope:'))));
  return [...scopes].map((scope) => ({
    sourceTag: scope,
    onlyDependOnLibsWithTags: [...new Set(['scope:shared', scope])],
  }));
}
