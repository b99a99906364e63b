/** Structure of pino's logger. Fields, never payloads. */
export interface WorkerLogger {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

const ignore = (): void => undefined;

export const silentLogger: WorkerLogger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** One JSON line for each warning and error on standard error: what a worker without a logger should still tell. */
export const consoleLogger: WorkerLogger = {
  debug: ignore,
  info: ignore,
  warn: (fields, message) => printLine('warn', fields, message),
  error: (fields, message) => printLine('error', fields, message),
};

function printLine(level: string, fields: Readonly<Record<string, unknown>>, message: string): void {
  const { err, ...rest } = fields;
  const error = err === undefined ? {} : { error: err instanceof Error ? (err.stack ?? err.message) : String(err) };
  process.stderr.write(
    `${JSON.stringify({ level, time: new Date().toISOString(), msg: message, ...rest, ...error })}\n`,
  );
}

/** Adds the same fields to every line, made only when a line is written. */
export function withFields(logger: WorkerLogger, fields: Readonly<Record<string, unknown>>): WorkerLogger {
  return {
    debug: (more, message) => logger.debug({ ...fields, ...more }, message),
    info: (more, message) => logger.info({ ...fields, ...more }, message),
    warn: (more, message) => logger.warn({ ...fields, ...more }, message),
    error: (more, message) => logger.error({ ...fields, ...more }, message),
  };
}
