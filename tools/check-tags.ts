import { join } from 'node:path';
import { listProjects } from './lib/projects.ts';
import { findWorkspaceProblems } from './lib/workspace-rules.ts';

const problems = findWorkspaceProblems(listProjects(join(import.meta.dirname, '..')));
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
