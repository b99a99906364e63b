import type { Command } from 'commander';
import { jsonBody, rawJson } from '../../client/body.js';
import type { StartedView } from '../../client/views.js';
import { failed, usageError } from '../../errors.js';
import { parseDuration, parsePositive } from '../../io/duration-option.js';
import { type Screen } from '../../io/output.js';
import { readPayload } from '../../io/payload.js';
import { sliceOf } from '../../io/slice.js';
import { clientCommand, note, openSession, print, type ClientOptions, type Session } from '../client-command.js';
import { runFields } from './show.js';
import { waitForRun } from './wait-for-run.js';

interface StartOptions extends ClientOptions {
  readonly version?: number;
  readonly input?: string;
  readonly key?: string;
  readonly businessKey?: string;
  readonly id?: string;
  readonly from?: string;
  readonly startedAt?: string;
  readonly wait?: boolean;
  readonly timeout?: number;
}

export function register(run: Command, screen: Screen): void {
  clientCommand(run, 'start <definition>', 'start a run')
    .option('--version <n>', 'this version of the definition; else the deployed one', parsePositive)
    .option('--input <json>', 'its input: JSON, @file, or - for standard input')
    .option('--key <key>', 'idempotency key: the same key starts at most one run')
    .option('--business-key <key>', 'your own name for it; two runs at a time cannot share one')
    .option('--id <uuid>', 'run id of your own (UUIDv7)')
    .option('--from <node>', 'start at this node')
    .option('--started-at <instant>', 'when you accepted the work (RFC 3339); deadlines count from it')
    .option('--wait', 'wait until it has ended; exit code 1 unless it SUCCEEDED')
    .option('--timeout <duration>', 'wait at most this long (30s, 5m)', parseDuration)
    .action((definition: string, options: StartOptions) => start(definition, options, screen));
}

async function start(definition: string, options: StartOptions, screen: Screen): Promise<void> {
  if (options.timeout !== undefined && options.wait !== true) throw usageError('--timeout is for --wait');
  const session = openSession(options, screen);
  const input = options.input === undefined ? undefined : readPayload(options.input, '--input');
  const answer = await session.gateway.call<StartedView>({
    method: 'POST',
    path: '/v1/runs',
    body: jsonBody({
      definitionId: definition,
      definitionVersion: options.version,
      input: rawJson(input),
      idempotencyKey: options.key,
      businessKey: options.businessKey,
      runId: options.id,
      startNodeId: options.from,
      startedAt: options.startedAt,
    }),
  });
  if (options.wait !== true) {
    const what = answer.view.created ? 'started' : 'had been started before';
    print(session, answer, (started) => `run ${started.runId} ${what}: ${started.status}\n`);
    return;
  }
  note(session, `run ${answer.view.runId}: waiting for its end`);
  await finish(session, answer.view.runId, options.timeout);
}

async function finish(session: Session, runId: string, timeoutMs: number | undefined): Promise<void> {
  const result = await waitForRun(session.gateway, runId, timeoutMs);
  const output = sliceOf(result.text, ['output']);
  print(session, result, ({ run }) => runFields(run) + (output === undefined ? '' : `\n${output}\n`));
  const { status } = result.view.run;
  if (status !== 'SUCCEEDED') throw failed(`run ${runId} ended ${status}`);
}
