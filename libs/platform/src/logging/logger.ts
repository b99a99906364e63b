import pino, { type DestinationStream, type Logger } from 'pino';

export interface LoggerOptions {
  readonly service: string;
  readonly level: string;
  /** Default: standard output. */
  readonly destination?: DestinationStream;
}

/** Where credentials and payloads could sit in what is logged; they never leave the process. */
const REDACTED = [
  'authorization',
  '*.authorization',
  'req.headers.authorization',
  'req.headers.cookie',
  'headers.authorization',
  'metadata.authorization',
  'input',
  'output',
  'payload',
  'password',
  'api_key',
  '*.input',
  '*.output',
  '*.payload',
  '*.password',
  '*.api_key',
];

/**
 * JSON lines on standard output, written synchronously: a line that was logged is there after any kind of exit.
 * Fields are snake_case (`run_id`, `task_id`, `attempt`, `lease_id`).
 */
export function createLogger(options: LoggerOptions): Logger {
  const settings = {
    level: options.level,
    base: { service: options.service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    messageKey: 'msg',
    redact: { paths: REDACTED, censor: '[redacted]' },
  };
  const destination = options.destination ?? pino.destination({ dest: 1, sync: true });
  return pino(settings, destination);
}
