import type { SagaLogger } from '../observe/observer.js';

/** Warnings and errors as JSON lines on standard error; the rest is silent. For services that pass no logger. */
export const stderrLogger: SagaLogger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (fields, message) => write('warn', fields, message),
  error: (fields, message) => write('error', fields, message),
};

function write(level: string, fields: object, message: string): void {
  process.stderr.write(`${lineOf(level, fields, message)}\n`);
}

/** A log line must never be the reason why something fails. */
export function lineOf(level: string, fields: object, message: string): string {
  try {
    return JSON.stringify({ level, ...fields, msg: message }, (_key, value: unknown) =>
      value instanceof Error ? { ...value, name: value.name, message: value.message, stack: value.stack } : value,
    );
  } catch {
    return JSON.stringify({ level, msg: message });
  }
}
