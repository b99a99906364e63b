import { z } from 'zod';
import { setting, type Setting } from './settings.js';

/**
 * Settings that several services share, so that one name means one thing everywhere.
 * Defaults are the addresses of a local start; they listen on loopback.
 */

const hostAndPort = z
  .string()
  .trim()
  .regex(/^(\[[0-9a-fA-F:]+\]|[^\s:/,]+):\d{1,5}$/, 'must be host:port')
  .refine((text) => inPortRange(Number(text.slice(text.lastIndexOf(':') + 1))), 'must name a port from 1 to 65535');

function inPortRange(port: number): boolean {
  return Number.isInteger(port) && port >= 0 && port <= 65_535;
}

/** Only decimal digits: no 1e3, no 0x10, no sign. */
export function wholeNumber(options: { min: number; max: number; fallback?: number }): z.ZodType<number> {
  const digits = z
    .string()
    .trim()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .refine((n) => n >= options.min && n <= options.max, `must be from ${options.min} to ${options.max}`);
  const fallback = options.fallback;
  return fallback === undefined ? digits : digits.optional().transform((n) => n ?? fallback);
}

export function portSetting(variable: string, fallback: number, about: string): Setting<number> {
  // 0 = any free port (tests).
  return setting(variable, wholeNumber({ min: 0, max: 65_535, fallback }), { about });
}

export function countSetting(
  variable: string,
  range: { min: number; max: number; fallback: number },
  about: string,
): Setting<number> {
  return setting(variable, wholeNumber(range), { about });
}

export function addressListSetting(
  variable: string,
  fallback: string | null,
  about: string,
): Setting<readonly string[]> {
  const list = z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(hostAndPort).min(1));
  return fallback === null
    ? setting(variable, list, { about })
    : setting(
        variable,
        list.optional().transform((addresses) => addresses ?? fallback.split(',')),
        { about },
      );
}

export function choiceSetting<const T extends readonly [string, ...string[]]>(
  variable: string,
  choices: T,
  options: { fallback: T[number]; about: string },
): Setting<T[number]> {
  const schema = z
    .string()
    .optional()
    .transform((text, context): T[number] => {
      const choice = text === undefined ? options.fallback : choices.find((one) => one === text.trim());
      if (choice !== undefined) return choice;
      context.addIssue({ code: 'custom', message: `must be one of ${choices.join(', ')}` });
      return z.NEVER;
    });
  return setting(variable, schema, { about: options.about });
}

export const databaseUrlSetting: Setting<string> = setting(
  'BATON_DATABASE_URL',
  z
    .string()
    .trim()
    .refine((text) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text), 'must be a postgres:// URL'),
  { about: 'PostgreSQL, postgres://user:password@host:port/database', secret: true },
);

export const kafkaBrokersSetting: Setting<readonly string[]> = addressListSetting(
  'BATON_KAFKA_BROKERS',
  null,
  'Kafka, host:port, several with commas',
);

export const coordinatorUrlSetting: Setting<readonly string[]> = addressListSetting(
  'BATON_COORDINATOR_URL',
  '127.0.0.1:7401',
  'coordinators (gRPC), host:port, several with commas',
);

export const internalUrlSetting: Setting<readonly string[]> = addressListSetting(
  'BATON_INTERNAL_URL',
  '127.0.0.1:7402',
  'internal port of the coordinators (gRPC), host:port, several with commas',
);

export const registryUrlSetting: Setting<readonly string[]> = addressListSetting(
  'BATON_REGISTRY_URL',
  '127.0.0.1:7403',
  'definition registry (gRPC), host:port, several with commas',
);

/** What every service understands. */
export function baseSettings(defaults: { readonly adminPort: number }) {
  return {
    adminPort: portSetting('BATON_ADMIN_PORT', defaults.adminPort, 'port of /livez, /readyz, /startupz, /metrics'),
    bindHost: setting(
      'BATON_BIND_HOST',
      z
        .string()
        .trim()
        .optional()
        .transform((host) => host ?? '127.0.0.1'),
      { about: 'address to listen on; 0.0.0.0 in a container' },
    ),
    logLevel: choiceSetting(
      'BATON_LOG_LEVEL',
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const,
      {
        fallback: 'info',
        about: 'least level that is logged',
      },
    ),
    nodeEnv: setting(
      'NODE_ENV',
      z
        .string()
        .trim()
        .optional()
        .transform((text) => text ?? 'development'),
      { about: 'production refuses settings that are meant for development' },
    ),
    shutdownTimeoutMs: countSetting(
      'BATON_SHUTDOWN_TIMEOUT_MS',
      { min: 100, max: 600_000, fallback: 10_000 },
      'hard limit of an orderly stop; keep it below the grace period of the supervisor',
    ),
    auth: choiceSetting('BATON_AUTH', ['none', 'api-key'] as const, {
      fallback: 'none',
      about: 'who may call: none (development only, refused in production) or api-key',
    }),
    apiKeysFile: setting('BATON_API_KEYS_FILE', z.string().trim().optional(), {
      about: 'JSON file of API keys (hashed); needed by BATON_AUTH=api-key',
    }),
  };
}

export type BaseSettings = ReturnType<typeof baseSettings>;
