import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Local TCP ports of a process: tells which session of a server belongs to it. Linux. */
export function portsOf(pid: number): ReadonlySet<number> {
  const sockets = new Set(descriptorsOf(pid).flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const ports = new Set<number>();
  for (const table of ['tcp', 'tcp6']) {
    for (const line of readFileSync(`/proc/${pid}/net/${table}`, 'utf8').split('\n').slice(1)) {
      const [, local = '', , , , , , , , inode = ''] = line.trim().split(/\s+/);
      if (sockets.has(inode)) ports.add(Number.parseInt(local.split(':')[1] ?? '', 16));
    }
  }
  return ports;
}

function descriptorsOf(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/fd`).map((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`);
    } catch {
      return ''; // closed meanwhile
    }
  });
}
