import { DBOS } from '@dbos-inc/dbos-sdk';
import type { LibrarySide } from './library-side.js';
import { STEP_NAMES, stepBody, type StepOutput } from './library-side.js';

/** DBOS Transact as its documentation shows it: a registered workflow of three steps, no decorators, defaults kept. */
export async function dbosSide(url: string, poolSize: number): Promise<LibrarySide> {
  DBOS.setConfig({
    name: 'baton-bench',
    systemDatabaseUrl: url,
    systemDatabasePoolSize: poolSize,
    logLevel: 'emerg',
    logger: silent,
    enableOTLP: false,
  });
  const order = DBOS.registerWorkflow(
    async (n: number): Promise<StepOutput | null> => {
      let last: StepOutput | null = null;
      for (const name of STEP_NAMES) last = await DBOS.runStep(() => stepBody(name, n), { name });
      return last;
    },
    { name: 'order' },
  );
  await DBOS.launch();
  return {
    name: 'dbos',
    async runOnce(n) {
      const result = await order(n);
      if (result?.n !== n) throw new Error(`DBOS answered ${JSON.stringify(result)}`);
    },
    close: () => DBOS.shutdown(),
  };
}

const silence = (): void => undefined;
const silent = { info: silence, debug: silence, warn: silence, error: silence };
