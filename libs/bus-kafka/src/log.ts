/** Where this library writes what happens. Fields, never payloads. */
export interface BusLog {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

const ignore = (): void => undefined;

export const silentLog: BusLog = { debug: ignore, info: ignore, warn: ignore, error: ignore };
