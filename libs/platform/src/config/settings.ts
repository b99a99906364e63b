import { readFileSync } from 'node:fs';
import type { z } from 'zod';

/** One environment variable: its name, how its text becomes a value, and what the reference says about it. */
export interface Setting<T> {
  readonly variable: string;
  /** Gets the text, or undefined when neither the variable nor its `_FILE` twin is set. */
  readonly schema: z.ZodType<T>;
  readonly about: string;
  /** Never printed. */
  readonly secret: boolean;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;

export type ConfigOf<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};

export interface ConfigProblem {
  readonly variable: string;
  readonly message: string;
}

export type LoadedConfig<S extends Settings> =
  | { readonly ok: true; readonly config: ConfigOf<S> }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SettingOptions {
  readonly about: string;
  readonly secret?: boolean;
}

export function setting<T>(variable: string, schema: z.ZodType<T>, options: SettingOptions): Setting<T> {
  return { variable, schema, about: options.about, secret: options.secret ?? false };
}

/** Reads every setting and names every problem at once, so that one start is enough to repair them all. */
export function loadConfig<S extends Settings>(settings: S, env: Environment): LoadedConfig<S> {
  const problems: ConfigProblem[] = [];
  const config: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries(settings)) {
    const raw = readVariable(entry, env);
    if (raw.problem !== undefined) {
      problems.push({ variable: entry.variable, message: raw.problem });
      continue;
    }
    const parsed = entry.schema.safeParse(raw.text);
    if (parsed.success) config[key] = parsed.data;
    else problems.push(explain(entry, raw.text, parsed.error.issues[0]?.message ?? 'is not valid'));
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, config: config as ConfigOf<S> };
}

function readVariable(entry: Setting<unknown>, env: Environment): { text?: string; problem?: string } {
  const direct = presentText(env[entry.variable]);
  const fileName = presentText(env[`${entry.variable}_FILE`]);
  if (fileName === undefined) return direct === undefined ? {} : { text: direct };
  if (direct !== undefined) {
    return { problem: `is set, and so is ${entry.variable}_FILE; keep one of them` };
  }
  try {
    // Mounted secrets usually end with a line feed that is no part of the value.
    const text = presentText(readFileSync(fileName, 'utf8').trim());
    return text === undefined ? { problem: `the file of ${entry.variable}_FILE is empty` } : { text };
  } catch (error) {
    return { problem: `the file of ${entry.variable}_FILE cannot be read: ${(error as Error).message}` };
  }
}

/** An empty variable counts as not set: charts and compose files often render one. */
function presentText(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text;
}

function explain(entry: Setting<unknown>, text: string | undefined, message: string): ConfigProblem {
  if (text === undefined) return { variable: entry.variable, message: `is not set (${entry.about})` };
  const shown = entry.secret ? '' : ` (got ${JSON.stringify(text.slice(0, 120))})`;
  return { variable: entry.variable, message: `${message}${shown}` };
}

/** What `config print` shows and what the log says at the start: no secret leaves. */
export function describeConfig(settings: Settings, config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, entry]) => [
      entry.variable,
      entry.secret && config[key] !== undefined ? '[set]' : config[key],
    ]),
  );
}
