import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Project {
  folder: string;
  name: string;
  tags: string[];
  /** Names that the package depends on, for development too. */
  dependencies: string[];
  /** Folders that the project's tsconfig.json refers to. */
  references: string[];
}

interface Manifest {
  name: string;
  nx?: { tags?: string[] };
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

const groups = ['apps', 'libs', 'examples'];
const singles = ['migrations', 'bench'];

/** Every project of the workspace, read from its own package.json: nothing has to be listed twice. */
export function listProjects(root: string): Project[] {
  const folders = groups
    .filter((group) => existsSync(join(root, group)))
    .flatMap((group) => readdirSync(join(root, group)).map((name) => `${group}/${name}`));
  return [...folders, ...singles]
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => readProject(root, folder));
}

function readProject(root: string, folder: string): Project {
  const manifest = readJson<Manifest>(join(root, folder, 'package.json'));
  const tsconfigPath = join(root, folder, 'tsconfig.json');
  const tsconfig = existsSync(tsconfigPath) ? readJson<{ references?: { path: string }[] }>(tsconfigPath) : {};
  return {
    folder,
    name: manifest.name,
    tags: manifest.nx?.tags ?? [],
    dependencies: Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }),
    references: (tsconfig.references ?? []).map((reference) => join(folder, reference.path)),
  };
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}
