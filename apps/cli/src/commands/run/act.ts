import { InvalidArgumentError, type Command } from 'commander';
import { jsonBody, rawJson } from '../../client/body.js';
import { segment } from '../../client/gateway.js';
import { parseDuration } from '../../io/duration-option.js';
import type { Screen } from '../../io/output.js';
import { readPayload } from '../../io/payload.js';
import { clientCommand, openSession, print, type ClientOptions } from '../client-command.js';

interface CancelledView {
  readonly status: string;
  readonly duplicate: boolean;
}

interface RetriedView extends CancelledView {
  readonly epoch: number;
}

interface SignalledView {
  readonly delivered: boolean;
  readonly duplicate: boolean;
  readonly signalId: string;
}

interface CommandOptions extends ClientOptions {
  readonly requestId?: string;
}

interface RetryOptions extends CommandOptions {
  readonly from?: string;
  readonly version?: number | 'deployed';
  readonly input?: string;
}

interface SignalOptions extends ClientOptions {
  readonly payload?: string;
  readonly id?: string;
  readonly expiresIn?: number;
}

export function register(run: Command, screen: Screen): void {
  registerCancel(run, screen);
  registerRetry(run, screen);
  registerRetryCompensation(run, screen);
  registerSignal(run, screen);
}

/** A command that changes a run: repeated with the same request id it has one effect. */
function runCommand(run: Command, usage: string, description: string): Command {
  return clientCommand(run, usage, description).option('--request-id <id>', 'the same id has one effect');
}

function registerCancel(run: Command, screen: Screen): void {
  runCommand(run, 'cancel <run>', 'cancel a run; completed steps are undone')
    .option('--reason <text>', 'why')
    .action(async (runId: string, options: CommandOptions & { reason?: string }) => {
      const session = openSession(options, screen);
      const answer = await session.gateway.call<CancelledView>({
        method: 'POST',
        path: `/v1/runs/${segment(runId)}/cancel`,
        body: jsonBody({ reason: options.reason, requestId: options.requestId }),
      });
      print(session, answer, (view) => `run ${runId}: ${view.status}${again(view)}\n`);
    });
}

function registerRetry(run: Command, screen: Screen): void {
  runCommand(run, 'retry <run>', 'run the failed part of a run again')
    .option('--from <node>', 'from this node on')
    .option('--version <n>', 'on this version of the definition, or "deployed"', parseVersion)
    .option('--input <json>', 'with this input: JSON, @file, or - for standard input')
    .action(async (runId: string, options: RetryOptions) => {
      const session = openSession(options, screen);
      const input = options.input === undefined ? undefined : readPayload(options.input, '--input');
      const answer = await session.gateway.call<RetriedView>({
        method: 'POST',
        path: `/v1/runs/${segment(runId)}/retry`,
        body: jsonBody({
          fromNodeId: options.from,
          definitionVersion: options.version,
          input: rawJson(input),
          requestId: options.requestId,
        }),
      });
      print(session, answer, (view) => `run ${runId}: ${view.status}, epoch ${view.epoch}${again(view)}\n`);
    });
}

function registerRetryCompensation(run: Command, screen: Screen): void {
  runCommand(run, 'retry-compensation <run>', 'run the failed undo steps of a run again').action(
    async (runId: string, options: CommandOptions) => {
      const session = openSession(options, screen);
      const answer = await session.gateway.call<RetriedView>({
        method: 'POST',
        path: `/v1/runs/${segment(runId)}/retry-compensation`,
        body: jsonBody({ requestId: options.requestId }),
      });
      print(session, answer, (view) => `run ${runId}: ${view.status}, epoch ${view.epoch}${again(view)}\n`);
    },
  );
}

function registerSignal(run: Command, screen: Screen): void {
  clientCommand(run, 'signal <run> <name>', 'send a signal to a run')
    .option('--payload <json>', 'what it carries: JSON, @file, or - for standard input')
    .option('--id <id>', 'the same id is taken once')
    .option('--expires-in <duration>', 'forget it when no wait has taken it by then (30s, 5m, 2h)', parseDuration)
    .action(async (runId: string, name: string, options: SignalOptions) => {
      const session = openSession(options, screen);
      const payload = options.payload === undefined ? undefined : readPayload(options.payload, '--payload');
      const answer = await session.gateway.call<SignalledView>({
        method: 'POST',
        path: `/v1/runs/${segment(runId)}/signals/${segment(name)}`,
        body: jsonBody({
          payload: rawJson(payload),
          signalId: options.id,
          expiresInMs: options.expiresIn,
        }),
      });
      print(session, answer, (view) => {
        const outcome = view.delivered ? 'taken by a wait' : 'kept until a wait takes it';
        return `signal ${view.signalId}: ${view.duplicate ? 'sent before' : outcome}\n`;
      });
    });
}

function again({ duplicate }: { duplicate: boolean }): string {
  return duplicate ? ' (asked for before)' : '';
}

function parseVersion(text: string): number | 'deployed' {
  if (text === 'deployed') return text;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('it must be a version number or "deployed".');
  return Number(text);
}
