import { readFileSync } from 'node:fs';
import type { ServiceProcess } from '@baton/testkit';

/** The lines that a service has written so far, parsed; those that are no JSON are left out. */
export function logOf(service: ServiceProcess): readonly Readonly<Record<string, unknown>>[] {
  return readFileSync(service.logFile, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : [];
      } catch {
        return []; // half a line
      }
    });
}
