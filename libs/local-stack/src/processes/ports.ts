import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { commandOf } from './identity.js';

const LOOPBACK = '127.0.0.1';

/** A port that nobody listens on now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, LOOPBACK, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Who listens on a port, as far as the system tells: for messages only. */
export function portOwner(port: number): { readonly pid: number; readonly command: string } | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const inodes = listeningInodes(port);
    for (const entry of readdirSync('/proc')) {
      if (/^\d+$/.test(entry) && holdsSocket(entry, inodes)) {
        return { pid: Number(entry), command: commandOf(Number(entry)) ?? '' };
      }
    }
  } catch {
    // No permission to look: the message goes without the name.
  }
  return undefined;
}

export function describePortOwner(port: number): string {
  const owner = portOwner(port);
  return owner === undefined ? 'another program' : `another program (pid ${owner.pid}, ${owner.command.slice(0, 60)})`;
}

function listeningInodes(port: number): ReadonlySet<string> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const inodes = new Set<string>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readFileSync(table, 'utf8').split('\n').slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === '0A' && local?.endsWith(suffix) && inode !== undefined) inodes.add(`socket:[${inode}]`);
    }
  }
  return inodes;
}

function holdsSocket(pid: string, inodes: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      try {
        return inodes.has(readlinkSync(`/proc/${pid}/fd/${fd}`));
      } catch {
        return false;
      }
    });
  } catch {
    return false;
  }
}
