import type { Settings } from '../config/settings.js';
import { releaseStartupMemory } from './memory.js';
import { ConfigError, ListenError, type RunningService, type ServiceDefinition } from './definition.js';

const EXIT_FATAL = 1;
const EXIT_CONFIG = 2;

/**
 * Runs a service as the process: the whole of a main.ts. SIGTERM and SIGINT stop it in order and it exits 0;
 * wrong configuration exits 2 before anything starts; a fatal error exits 1, after the same orderly stop where possible.
 */
export async function bootstrapService<S extends Settings>(service: ServiceDefinition<S>): Promise<void> {
  const process_ = new ServiceProcess(service.name);
  process_.watch();
  try {
    const { startService } = await import('./start.js');
    process_.started(await startService(service, process.env, releaseStartupMemory));
  } catch (error) {
    process_.couldNotStart(error);
  }
}

class ServiceProcess {
  private running: RunningService | undefined;
  private stopRequest: { readonly exitCode: number } | undefined;

  constructor(private readonly name: string) {}

  watch(): void {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.stop(signal, 0));
    process.on('uncaughtException', (error) => this.fatal('uncaught exception', error));
    process.on('unhandledRejection', (reason) => this.fatal('unhandled rejection', reason));
    // Whoever read our output is gone; that is no reason to fail.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  }

  started(service: RunningService): void {
    this.running = service;
    const request = this.stopRequest;
    if (request !== undefined) void this.stopAndExit(service, request.exitCode);
  }

  couldNotStart(error: unknown): void {
    process.stderr.write(`baton ${this.name}: ${describeStartError(error)}\n`);
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : EXIT_FATAL);
  }

  /** The first request decides; a second signal must not run the hooks twice (B122). */
  private stop(reason: string, exitCode: number): void {
    if (this.stopRequest !== undefined) return;
    this.stopRequest = { exitCode };
    const service = this.running;
    // A signal during the start is obeyed as soon as the start has ended.
    if (service === undefined) return;
    service.platform.logger.info({ reason }, 'stopping');
    void this.stopAndExit(service, exitCode);
  }

  private async stopAndExit(service: RunningService, exitCode: number): Promise<void> {
    const clean = await service.stop();
    service.platform.logger.info({ clean }, 'stopped');
    process.exit(clean ? exitCode : EXIT_FATAL);
  }

  private fatal(what: string, error: unknown): void {
    const service = this.running;
    if (service === undefined) return this.couldNotStart(error);
    service.platform.logger.fatal({ err: error }, what);
    this.stop(what, EXIT_FATAL);
  }
}

function describeStartError(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  const { code, port, message, stack } = error as NodeJS.ErrnoException & { port?: number };
  if (error instanceof ListenError) return message;
  if (code === 'EADDRINUSE') return `port ${port ?? '?'} is taken: ${message}`;
  return stack ?? String(error);
}
