import type { EngineApi } from '@baton/engine';
import type { Command } from 'commander';
import { CliError, failed, unreachable } from '../../errors.js';
import { checkNamespace, databaseUrl, guarded } from '../../io/database.js';
import { withFormat, type Format } from '../../io/output.js';

/** Options of every command that reads a database of the embedded runtime. */
export interface SagaOptions {
  readonly output: Format;
  readonly databaseUrl?: string;
  readonly namespace: string;
}

export function sagaCommand(parent: Command, usage: string, description: string): Command {
  return withFormat(parent.command(usage).description(description))
    .option('--database-url <url>', 'PostgreSQL; else BATON_DATABASE_URL, else the one of "baton up"')
    .option('--namespace <name>', 'the namespace of the sagas', 'default');
}

/** Works on the database with an engine of its own, and closes it whatever happens. */
export async function withSagas<T>(options: SagaOptions, work: (engine: EngineApi) => Promise<T>): Promise<T> {
  checkNamespace(options.namespace);
  const url = databaseUrl(options.databaseUrl);
  // Loaded when it is needed: other commands start without it.
  const { openSagas } = await import('./saga-engine.js');
  return guarded(async () => {
    const { engine, close } = await openSagas(url);
    try {
      return await work(engine);
    } catch (error) {
      throw endOf(error);
    } finally {
      await close();
    }
  });
}

/** What the engine refuses, as an end of the command. */
function endOf(error: unknown): unknown {
  const { kind, code, message } = error as { kind?: unknown; code?: unknown; message?: unknown };
  if (error instanceof CliError || typeof kind !== 'string' || typeof code !== 'string') return error;
  const text = `${code}: ${String(message)}`;
  return kind === 'unavailable' ? unreachable(text) : failed(text);
}
