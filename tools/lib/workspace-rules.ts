import { layerNames } from './layers.ts';
import type { Project } from './projects.ts';

/**
 * What must hold of the projects so that lint and the build can be trusted: one known layer and one scope each,
 * and the same dependencies named to npm (nx builds by these) and to TypeScript (tsc -b builds by those).
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

function referenceProblems(project: Project, projects: Project[]): string[] {
  const ours = new Map(projects.map((other) => [other.name, other.folder]));
  const needed = project.dependencies.flatMap((name) => ours.get(name) ?? []);
  return [
    ...needed
      .filter((folder) => !project.references.includes(folder))
      .map((folder) => `${project.name}: depends on ${folder}, but its tsconfig.json has no reference to it`),
    ...project.references
      .filter((folder) => !needed.includes(folder))
      .map((folder) => `${project.name}: its tsconfig.json refers to ${folder}, but package.json has no dependency`),
  ];
}
