export interface LockedPackage {
  version?: string;
  integrity?: string;
  optional?: boolean;
  devOptional?: boolean;
  link?: boolean;
}

export interface Lockfile {
  packages: Record<string, LockedPackage>;
}

/** Whether everything that the lock file names is installed in that version. Packages for other systems may lack. */
export function packagesMatch(wanted: Lockfile, installed: Lockfile): boolean {
  const inModules = Object.entries(wanted.packages).filter(([path]) => path.startsWith('node_modules/'));
  return inModules.every(([path, locked]) => {
    const found = installed.packages[path];
    if (found === undefined) return locked.optional === true || locked.devOptional === true;
    return found.version === locked.version && found.integrity === locked.integrity && found.link === locked.link;
  });
}
