import type { WorkerLogger } from '@baton/worker';
import { createFleet, type Fleet } from './fleet.js';
import { readSettings } from './settings.js';

/** The demo worker fleet as a process. SIGTERM and SIGINT: finish or give back what is running, then exit. */
const STOP_WITHIN_MS = 6_000;

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

function jsonLogger(least: string): WorkerLogger {
  const from = Math.max(0, LEVELS.indexOf(least as (typeof LEVELS)[number]));
  const write = (level: (typeof LEVELS)[number]) => (fields: Readonly<Record<string, unknown>>, message: string) => {
    if (LEVELS.indexOf(level) < from) return;
    const { err, ...rest } = fields;
    const error = err === undefined ? {} : { error: err instanceof Error ? err.message : String(err) };
    const line = { level, time: new Date().toISOString(), service: 'worker', msg: message, ...rest, ...error };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

async function main(): Promise<void> {
  const logger = jsonLogger(process.env['BATON_LOG_LEVEL'] ?? 'info');
  const fleet = createFleet(readSettings(process.env), logger);
  let isStopping = false;
  const stop = (signal: string) => {
    if (isStopping) return;
    isStopping = true;
    logger.info({ signal }, 'stopping');
    void stopAndExit(fleet, logger);
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  try {
    await fleet.start();
  } catch (error) {
    // Asked to stop before the groups were joined: the stop ends the process.
    if (!isStopping) throw error;
  }
}

async function stopAndExit(fleet: Fleet, logger: WorkerLogger): Promise<void> {
  try {
    await fleet.stop(STOP_WITHIN_MS);
    process.exit(0);
  } catch (error) {
    logger.error({ err: error }, 'the fleet did not stop cleanly');
    process.exit(1);
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`order-fulfilment: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
