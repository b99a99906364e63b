import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { Screen } from '../../io/output.js';
import { sagaCommand, withSagas, type SagaOptions } from './saga-command.js';

interface RetryOptions extends SagaOptions {
  readonly requestId?: string;
}

const HELP = `
The undos that failed become claimable again: a process that runs the saga takes them at its next look.`;

export function register(group: Command, screen: Screen): void {
  sagaCommand(group, 'retry-compensation <run>', 'run the failed undo steps of a run again')
    .option('--request-id <id>', 'the same id has one effect')
    .addHelpText('after', HELP)
    .action((runId: string, options: RetryOptions) => retry(runId, options, screen));
}

async function retry(runId: string, options: RetryOptions, screen: Screen): Promise<void> {
  const { namespace, requestId = randomUUID() } = options;
  const answer = await withSagas(options, (engine) => engine.retryCompensation({ namespace, runId, requestId }));
  const status = answer.status.toLowerCase();
  const again = answer.duplicate ? ' (asked for before)' : '';
  screen.out(
    options.output === 'json'
      ? `${JSON.stringify({ ...answer, status })}\n`
      : `run ${runId}: ${status}, epoch ${answer.epoch}${again}\n`,
  );
}
