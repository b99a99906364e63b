import { join } from 'node:path';
import { batonFolder, projectFolder } from '@baton/local-stack';

/** Where the development platform keeps its things: all of it below one folder. */
export interface Layout {
  readonly project: string;
  readonly home: string;
  readonly postgresData: string;
  readonly kafkaData: string;
  readonly logs: string;
  readonly stateFile: string;
  readonly lockFile: string;
  readonly compileCache: string;
}

/** BATON_HOME keeps a second platform apart from the first: its own data, logs and state. */
export function layoutOf(
  home: string = process.env['BATON_HOME'] ?? batonFolder(),
  project: string = projectFolder(),
): Layout {
  return {
    project,
    home,
    postgresData: join(home, 'data', 'postgres'),
    kafkaData: join(home, 'data', 'kafka'),
    logs: join(home, 'logs'),
    stateFile: join(home, 'state.json'),
    lockFile: join(home, 'up.lock'),
    compileCache: join(home, 'compile-cache'),
  };
}

export function logFileOf(layout: Layout, name: string): string {
  return join(layout.logs, `${name}.log`);
}
