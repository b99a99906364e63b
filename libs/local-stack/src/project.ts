import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The root folder of this workspace: the nearest folder above that holds nx.json. */
export function projectFolder(from: string = __dirname): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'nx.json'))) return folder;
    if (dirname(folder) === folder) return process.cwd();
  }
}

/** Everything this library downloads or that a development platform writes stays below this folder. */
export function batonFolder(): string {
  return join(projectFolder(), '.baton');
}
