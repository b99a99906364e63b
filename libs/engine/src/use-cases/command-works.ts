import type { Dag, RunEvent } from '@baton/core';
import { canonicalJson } from '@baton/core';
import { EngineError, type CancelRun, type CommandResult, type RetryCompensation, type RetryRun } from '../api.js';
import { inputError, refusalError } from '../lane/refusals.js';
import type { Choice, CommandStamp, Outcome, Work } from '../lane/work.js';
import type { JsonSchemaValidator } from '../options.js';
import { checkCount, checkJson, checkName, checkUuid, cleanText, invalid } from './checks.js';

export interface CommandDeps {
  readonly hash: (text: string) => string;
  readonly schemas: JsonSchemaValidator;
  readonly settle: (result: CommandResult | EngineError) => void;
}

const longestReason = 1_000;

interface CommandParts {
  readonly namespace: string;
  readonly runId: string;
  readonly keysFirst: boolean;
  readonly command: CommandStamp;
  readonly event: RunEvent;
  readonly version?: number | 'deployed';
  readonly newInput?: string;
}

/** Retry, cancel and retryCompensation: commands with an id that is kept with their effect (R24). Lock first (R9). */
class CommandWork implements Work {
  readonly namespace: string;
  readonly runId: string;
  readonly size: number;
  readonly way = 'lock-first';
  readonly keysFirst: boolean;
  readonly command: CommandStamp;
  misses = 0;
  dataErrors = 0;

  constructor(
    private readonly parts: CommandParts,
    private readonly deps: CommandDeps,
  ) {
    this.namespace = parts.namespace;
    this.runId = parts.runId;
    this.keysFirst = parts.keysFirst;
    this.command = parts.command;
    this.size = parts.newInput?.length ?? 0;
  }

  /** Under the run's lock: a retry chooses its version here, and nowhere earlier. */
  choose(): Choice {
    const { event, version } = this.parts;
    return { kind: 'event', event, ...(version === undefined ? {} : { version }) };
  }

  check(dag: Dag): EngineError | null {
    return this.parts.newInput === undefined ? null : inputError(this.deps.schemas, dag, this.parts.newInput);
  }

  settle(outcome: Outcome): void {
    this.deps.settle(commandResult(this.runId, outcome));
  }
}

function commandResult(runId: string, outcome: Outcome): CommandResult | EngineError {
  switch (outcome.kind) {
    case 'applied':
      return { status: outcome.decision.state.status, epoch: outcome.decision.state.epoch, duplicate: false };
    case 'ignored': {
      const { state, duplicate } = outcome.decision;
      return { status: state.status, epoch: state.epoch, duplicate: duplicate === true };
    }
    case 'known-command': {
      const { status, epoch } = outcome.state;
      if (outcome.sameRequest) return { status, epoch, duplicate: true };
      return new EngineError('conflict', 'COMMAND_CONFLICT', 'this request id was used for another request');
    }
    case 'refused': {
      const error = refusalError(outcome.refusal);
      return error;
    }
    case 'missing':
      return runNotFound(runId);
    case 'failed':
      return outcome.error;
  }
}

export function runNotFound(runId: string): EngineError {
  return new EngineError('not-found', 'RUN_NOT_FOUND', `there is no run ${runId}`);
}

export function cancelWork(raw: CancelRun, deps: CommandDeps): Work {
  const { namespace } = raw;
  const { runId, commandId } = checkAddress(raw);
  const reason = cleanText(raw.reason === '' ? 'cancelled' : raw.reason, longestReason);
  const command = { commandId, requestHash: deps.hash(JSON.stringify(['cancel', reason])) };
  const event: RunEvent = { type: 'RunCancelled', commandId, reason };
  return new CommandWork({ namespace, runId, keysFirst: false, command, event }, deps);
}

export function retryWork(raw: RetryRun, deps: CommandDeps): Work {
  const { namespace, fromNodeId, definitionVersion, input } = raw;
  const { runId, commandId } = checkAddress(raw);
  if (fromNodeId !== undefined) checkName(fromNodeId, 'fromNodeId');
  if (typeof definitionVersion === 'number') checkVersion(definitionVersion);
  if (input !== undefined) checkJson(input, 'input');
  const content = [
    'retry',
    fromNodeId ?? null,
    definitionVersion ?? null,
    input === undefined ? null : canonicalJson(input),
  ];
  const event: RunEvent = {
    type: 'RunRetried',
    commandId,
    ...(fromNodeId === undefined ? {} : { fromNodeId }),
    ...(input === undefined ? {} : { input }),
  };
  const parts: CommandParts = {
    namespace,
    runId,
    keysFirst: true,
    command: { commandId, requestHash: deps.hash(JSON.stringify(content)) },
    event,
    ...(definitionVersion === undefined ? {} : { version: definitionVersion }),
    ...(input === undefined ? {} : { newInput: input }),
  };
  return new CommandWork(parts, deps);
}

export function retryCompensationWork(raw: RetryCompensation, deps: CommandDeps): Work {
  const { namespace } = raw;
  const { runId, commandId } = checkAddress(raw);
  const command = { commandId, requestHash: deps.hash(JSON.stringify(['retry-compensation'])) };
  const event: RunEvent = { type: 'CompensateRun', commandId, scope: 'failed-undos' };
  return new CommandWork({ namespace, runId, keysFirst: true, command, event }, deps);
}

function checkAddress(raw: { readonly runId: string; readonly requestId: string }): {
  readonly runId: string;
  readonly commandId: string;
} {
  // The edge makes an id where the caller gave none (R6).
  checkName(raw.requestId, 'requestId');
  return { runId: checkUuid(raw.runId, 'runId'), commandId: raw.requestId };
}

export function checkVersion(version: number): void {
  checkCount(version, 'definitionVersion');
  if (version < 1) throw invalid('VERSION_INVALID', 'a definition version is at least 1', '/definitionVersion');
}
