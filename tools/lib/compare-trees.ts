export interface Difference {
  path: string;
  what: string;
}

/** Where two folders, given as path to content, are not the same. */
export function compareTrees(committed: Map<string, string>, wanted: Map<string, string>): Difference[] {
  const paths = [...new Set([...committed.keys(), ...wanted.keys()])].sort();
  return paths.flatMap((path) => {
    const was = committed.get(path);
    const is = wanted.get(path);
    if (was === is) return [];
    if (was === undefined) return [{ path, what: 'missing' }];
    if (is === undefined) return [{ path, what: 'nothing generates it any more' }];
    return [{ path, what: `differs from line ${firstDifferentLine(was, is)} on` }];
  });
}

function firstDifferentLine(was: string, is: string): number {
  const lines = is.split('\n');
  const different = was.split('\n').findIndex((line, index) => line !== lines[index]);
  return (different === -1 ? was.split('\n').length : different) + 1;
}
