import { layerNames } from './layers.ts';
import type { Project } from './projects.ts';

/**
 * What must hold of the projects so that lint and the build can be trusted: one known layer and one scope each,
 * and every reference of TypeScript (tsc -b builds by these) named to npm too (nx builds by those).
 */
export function findWorkspaceProblems(projects: Project[]): string[] {
  return projects.flatMap((project) => [...tagProblems(project), ...referenceProblems(project, projects)]);
}

function tagProblems(project: Project): string[] {
  const layers = project.tags.filter((tag) => tag.startsWith('layer:'));
  const scopes = project.tags.filter((tag) => tag.startsWith('scope:'));
  const unknown = layers.filter((tag) => !layerNames.includes(tag.slice('layer:'.length)));
  return [
    ...(layers.length === 1 ? [] : [`${project.name}: needs exactly one layer: tag, has ${layers.length}`]),
    ...(scopes.length === 1 ? [] : [`${project.name}: needs exactly one scope: tag, has ${scopes.length}`]),
    ...unknown.map((tag) => `${project.name}: there is no ${tag} (tools/lib/layers.ts lists them)`),
  ];
}

/**
 * A reference without a dependency would let nx build both at the same time. A dependency without a reference is
 * harmless: it is for specs only, or the build of the project fails by itself.
 */
function referenceProblems(project: Project, projects: Project[]): string[] {
  const ours = new Map(projects.map((other) => [other.name, other.folder]));
  const named = project.dependencies.flatMap((name) => ours.get(name) ?? []);
  return project.references
    .filter((folder) => !named.includes(folder))
    .map((folder) => `${project.name}: its tsconfig.json refers to ${folder}, but package.json has no dependency`);
}
