/** Exit codes of every command. */
export const EXIT = { done: 0, failed: 1, usage: 2, unreachable: 3 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the command with one line for people. `details` go below it. */
export class CliError extends Error {
  constructor(
    readonly exitCode: ExitCode,
    message: string,
    readonly details: readonly string[] = [],
  ) {
    super(message);
    this.name = 'CliError';
  }
}

export function usageError(message: string): CliError {
  return new CliError(EXIT.usage, message);
}

export function failed(message: string, details: readonly string[] = []): CliError {
  return new CliError(EXIT.failed, message, details);
}

export function unreachable(message: string): CliError {
  return new CliError(EXIT.unreachable, message);
}
