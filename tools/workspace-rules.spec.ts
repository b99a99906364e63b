import { join } from 'node:path';
import { listProjects, type Project } from './lib/projects.ts';
import { findWorkspaceProblems } from './lib/workspace-rules.ts';

const project = (changes: Partial<Project>): Project => ({
  folder: 'libs/a',
  name: '@baton/a',
  tags: ['layer:core', 'scope:shared'],
  dependencies: [],
  references: [],
  ...changes,
});

describe('the rules of the workspace', () => {
  it('hold for every project of this repository', () => {
    const projects = listProjects(join(__dirname, '..'));
    expect(projects.length).toBeGreaterThan(15);
    expect(findWorkspaceProblems(projects)).toEqual([]);
  });

  it.each([
    [['layer:core'], '@baton/a: needs exactly one scope: tag, has 0'],
    [['scope:shared'], '@baton/a: needs exactly one layer: tag, has 0'],
    [['layer:core', 'layer:app', 'scope:shared'], '@baton/a: needs exactly one layer: tag, has 2'],
    [['layer:core', 'scope:a', 'scope:b'], '@baton/a: needs exactly one scope: tag, has 2'],
    [['layer:cellar', 'scope:shared'], '@baton/a: there is no layer:cellar (tools/lib/layers.ts lists them)'],
  ])('refuse a project with the tags %j', (tags, problem) => {
    expect(findWorkspaceProblems([project({ tags })])).toEqual([problem]);
  });

  it('let a project carry tags of other kinds', () => {
    expect(findWorkspaceProblems([project({ tags: ['layer:core', 'scope:shared', 'role:schema'] })])).toEqual([]);
  });

  it('refuse a reference that npm does not know as a dependency', () => {
    const b = project({ folder: 'libs/b', name: '@baton/b' });
    expect(findWorkspaceProblems([project({ references: ['libs/b'] }), b])).toEqual([
      '@baton/a: its tsconfig.json refers to libs/b, but package.json has no dependency',
    ]);
    expect(findWorkspaceProblems([project({ dependencies: ['@baton/b'], references: ['libs/b'] }), b])).toEqual([]);
    expect(findWorkspaceProblems([project({ dependencies: ['@baton/b', 'pg'] }), b])).toEqual([]);
  });
});
