import type { Dag, DecideEnv, Decision, Loaded, Needs, RunEvent } from '@baton/core';
import { isTerminal } from '@baton/core';
import { EngineError, type LeasedTask } from '../api.js';
import { isMiss, type DefinitionCache, type DefinitionMiss } from '../caches/definition-cache.js';
import type { Decide } from '../options.js';
import { commandKey, type CommandRef, type LockedSession, type NeedsRequest } from '../ports.js';
import type { RunTurn } from './run-turn.js';
import type { Choice, Work } from './work.js';

/** Where a batch reads: the store itself, or a session that holds the run locks. */
export interface NeedsReader extends Pick<LockedSession, 'readNeeds' | 'readCommands'> {
  /** R30: answers leases without locks, and the write repeats them. Without: a turn without locks leaves for them (R9). */
  readonly looksAtLeases?: boolean;
}

export interface DeciderDeps {
  readonly decide: Decide;
  readonly definitions: DefinitionCache;
  readonly deployedVersion: (namespace: string, id: string) => Promise<number | undefined>;
  readonly newId: () => string;
  readonly random: () => number;
  /** Rows that one batch may write (R5). */
  readonly batchRows: number;
}

/** What one turn waits for before it can go on. */
type Ask =
  | { readonly kind: 'command'; readonly turn: RunTurn; readonly commandId: string }
  | { readonly kind: 'deployed'; readonly turn: RunTurn; readonly definitionId: string }
  | { readonly kind: 'definition'; readonly turn: RunTurn; readonly definitionId: string; readonly version: number }
  | { readonly kind: 'needs'; readonly turn: RunTurn; readonly needs: Needs };

/** More rounds than any decision takes: a decision that asks for ever is a bug (R8). */
const mostRounds = 12;

/**
 * Decides each event of a batch in turn on immutable state; the second event of a run sees what the first left.
 * What decisions ask for is read for the whole batch at once, so a batch costs as many round trips as its most
 * curious event, not one for each.
 */
export class Decider {
  private readonly missing = new Map<string, DefinitionMiss>();
  /** Loaded for this batch: the cache may be too small for all of them. */
  private readonly loaded = new Map<string, Dag>();
  private rows = 0;

  constructor(
    private readonly deps: DeciderDeps,
    private readonly reader: NeedsReader,
  ) {}

  async run(turns: readonly RunTurn[]): Promise<void> {
    let active = turns;
    while (active.length > 0) {
      const asks: Ask[] = [];
      for (const turn of active) {
        const before = turn.fold?.rowCount ?? 0;
        const ask = this.advance(turn);
        this.rows += (turn.fold?.rowCount ?? 0) - before;
        if (ask !== null) asks.push(ask);
      }
      if (asks.length === 0) return;
      await this.answer(asks);
      active = asks.map((ask) => ask.turn);
    }
  }

  /** Goes on with one run until it is done or waits for something. */
  private advance(turn: RunTurn): Ask | null {
    for (let work = turn.current; work !== undefined; work = turn.current) {
      if (turn.fold === null || turn.seen === null) {
        turn.conclude({ kind: 'missing' });
        continue;
      }
      if (this.rows > this.deps.batchRows && turn.rounds === 0) {
        turn.leave('later');
        return null;
      }
      turn.rounds += 1;
      const ask = this.step(turn, work);
      if (ask !== null) return ask;
    }
    return null;
  }

  /** One work: command id, choice of event and version, decision. null = concluded, or left. */
  private step(turn: RunTurn, work: Work): Ask | null {
    if (turn.rounds > mostRounds) return this.stick(turn, new Error('the decision never stops asking'));
    if (work.command !== null) {
      const ask = this.checkCommand(turn, work.command.commandId, work.command.requestHash);
      if (ask !== 'fresh') return ask;
    }
    if (work.keysFirst && turn.keyHolder !== undefined && !isTerminal(turn.keyHolder.status)) {
      return this.keyInUse(turn, turn.keyHolder.runId);
    }
    const seen = turn.seenNow();
    if (seen === null) return null;
    let choice: Choice;
    try {
      choice = work.choose(seen);
    } catch (error) {
      return this.stick(turn, error);
    }
    if (choice.kind === 'reread') return leave(turn, 'reread');
    if (choice.kind === 'ignored') return this.conclude(turn, choice.decision, null, undefined);
    return this.decideOn(turn, work, choice);
  }

  private checkCommand(turn: RunTurn, commandId: string, requestHash: string): Ask | null | 'fresh' {
    const pending = turn.fold?.commands.find((command) => command.commandId === commandId);
    const known = pending ?? turn.commands.get(commandId);
    const seen = turn.seenNow();
    if (known !== undefined && seen !== null) {
      const sameRequest = known.requestHash === requestHash;
      turn.conclude({ kind: 'known-command', sameRequest, state: seen.state });
      return null;
    }
    return turn.commands.has(commandId) ? 'fresh' : { kind: 'command', turn, commandId };
  }

  private decideOn(turn: RunTurn, work: Work, choice: Extract<Choice, { kind: 'event' }>): Ask | null {
    const dag = this.dagFor(turn, choice.version);
    if (dag === null) return null;
    if ('kind' in dag) return dag;
    const invalid = work.check?.(dag) ?? null;
    if (invalid !== null) {
      turn.conclude({ kind: 'failed', error: invalid });
      return null;
    }
    let loaded: Loaded = turn.asked === undefined || turn.fold === null ? {} : turn.facts.view(turn.asked, turn.fold);
    for (let round = 0; round < mostRounds; round += 1) {
      let decision: Decision;
      try {
        decision = this.callDecide(turn, dag, choice.event, loaded);
      } catch (error) {
        return this.stick(turn, error);
      }
      if (decision.kind !== 'needs') return this.conclude(turn, decision, choice.event, loaded);
      turn.asked = addNeeds(turn.asked, decision.needs);
      const ask = this.lacking(turn, turn.asked);
      if (ask !== 'here') return ask;
      loaded = turn.fold === null ? {} : turn.facts.view(turn.asked, turn.fold);
    }
    return this.stick(turn, new Error('the decision never stops asking'));
  }

  private callDecide(turn: RunTurn, dag: Dag, event: RunEvent, loaded: Loaded): Decision {
    const env: DecideEnv = { newId: this.deps.newId, random: this.deps.random, loaded };
    const { fold } = turn;
    if (fold === null) throw new Error('no run to decide on');
    return this.deps.decide(dag, fold.state, event, env);
  }

  private lacking(turn: RunTurn, asked: Needs): Ask | null | 'here' {
    const { fold, facts } = turn;
    if (fold === null) return null;
    const mayAsk = turn.isLocked || this.reader.looksAtLeases === true;
    if ((asked.leases?.length ?? 0) > 0 && !mayAsk) return leave(turn, 'lock');
    const needs = facts.missing(asked, fold);
    return needs === null ? 'here' : { kind: 'needs', turn, needs };
  }

  /** The definition to decide with; an Ask where it must be loaded; null where the work is concluded. */
  private dagFor(turn: RunTurn, wanted: number | 'deployed' | undefined): Dag | Extract<Ask, { kind: string }> | null {
    const state = turn.fold?.state;
    if (state === undefined) return null;
    const { namespace, definitionId } = state;
    let version = wanted ?? state.definitionVersion;
    if (version === 'deployed') {
      if (turn.deployed === undefined) return { kind: 'deployed', turn, definitionId };
      if (turn.deployed === null) return this.noDefinition(turn, `nothing of ${definitionId} is deployed`);
      version = turn.deployed;
    }
    const key = `${namespace}/${definitionId}@${version}`;
    const dag = this.loaded.get(key) ?? this.deps.definitions.peek(namespace, definitionId, version);
    if (dag !== undefined) return dag;
    const miss = this.missing.get(key);
    if (miss === undefined) return { kind: 'definition', turn, definitionId, version };
    if (wanted !== undefined) return this.noDefinition(turn, miss.reason);
    return this.stick(turn, new Error(miss.reason));
  }

  /** R24: another open run has this run's business key by now. */
  private keyInUse(turn: RunTurn, holder: string): null {
    const message = `the business key of this run is in use by run ${holder}`;
    turn.conclude({ kind: 'failed', error: new EngineError('conflict', 'BUSINESS_KEY_IN_USE', message) });
    return null;
  }

  private noDefinition(turn: RunTurn, reason: string): null {
    turn.conclude({ kind: 'failed', error: new EngineError('not-found', 'DEFINITION_NOT_FOUND', reason) });
    return null;
  }

  private conclude(
    turn: RunTurn,
    decision: Exclude<Decision, { kind: 'needs' }>,
    event: RunEvent | null,
    loaded: Loaded | undefined,
  ): null {
    const { fold, current } = turn;
    if (fold === null || current === undefined) return null;
    // A command that was applied leaves its id behind, whatever else it did (R24).
    const keepsId = current.command !== null && decision.kind === 'applied';
    const changes = keepsId || (decision.kind !== 'refused' && decision.actions.length > 0);
    // Only a write proves a cached state: what writes nothing is decided on a fresh read.
    if (!changes && !turn.isFresh && fold.isEmpty) return leave(turn, 'reread');
    if (decision.kind === 'refused') {
      turn.conclude({ kind: 'refused', refusal: decision.refusal, state: fold.state });
      return null;
    }
    let leased: readonly LeasedTask[] = [];
    if (changes && event !== null) {
      if (!fold.takes(decision.actions)) return leave(turn, 'later');
      const { actions, state } = decision;
      const { wish = null } = current;
      leased = fold.add({ event, actions, state, leases: loaded?.leases, repeatsLeases: !turn.isLocked, wish });
      if (keepsId && current.command !== null) fold.commands.push(current.command);
    }
    turn.conclude(decision.kind === 'applied' ? { kind: 'applied', decision, leased } : { kind: 'ignored', decision });
    return null;
  }

  /** R8: `decide` itself failed. The run is flagged after the batch; what it decided before stands. */
  private stick(turn: RunTurn, error: unknown): null {
    if (!turn.isFresh) return leave(turn, 'reread');
    const reason = error instanceof Error ? error.message : String(error);
    turn.stuckReason = reason;
    turn.conclude({
      kind: 'failed',
      error: new EngineError('precondition', 'RUN_STUCK', `the run cannot go on: ${reason}`, { cause: error }),
    });
    return null;
  }

  private async answer(asks: readonly Ask[]): Promise<void> {
    const needs: NeedsRequest[] = [];
    const commands: CommandRef[] = [];
    const others: Promise<void>[] = [];
    for (const ask of asks) {
      const { namespace, runId } = ask.turn.queue;
      if (ask.kind === 'needs') needs.push({ namespace, runId, needs: ask.needs });
      else if (ask.kind === 'command') commands.push({ namespace, runId, commandId: ask.commandId });
      else if (ask.kind === 'definition') others.push(this.loadDefinition(ask));
      else others.push(this.loadDeployed(ask));
    }
    await Promise.all(others);
    // One after the other: within a lock these share a connection.
    if (commands.length > 0) {
      const stored = await this.reader.readCommands(commands);
      for (const ask of asks) {
        if (ask.kind !== 'command') continue;
        ask.turn.commands.set(ask.commandId, stored.get(commandKey(ask.turn.queue.runId, ask.commandId)));
      }
    }
    if (needs.length > 0) {
      const loaded = await this.reader.readNeeds(needs);
      for (const ask of asks) {
        if (ask.kind === 'needs') ask.turn.facts.learn(ask.needs, loaded.get(ask.turn.queue.runId) ?? {});
      }
    }
  }

  private async loadDefinition(ask: Extract<Ask, { kind: 'definition' }>): Promise<void> {
    const { namespace } = ask.turn.queue;
    const key = `${namespace}/${ask.definitionId}@${ask.version}`;
    const loaded = await this.deps.definitions.load(namespace, ask.definitionId, ask.version);
    if (isMiss(loaded)) this.missing.set(key, loaded);
    else this.loaded.set(key, loaded);
  }

  private async loadDeployed(ask: Extract<Ask, { kind: 'deployed' }>): Promise<void> {
    ask.turn.deployed = (await this.deps.deployedVersion(ask.turn.queue.namespace, ask.definitionId)) ?? null;
  }
}

function leave(turn: RunTurn, reason: 'lock' | 'later' | 'reread'): null {
  turn.leave(reason);
  return null;
}

function addNeeds(before: Needs | undefined, more: Needs): Needs {
  if (before === undefined) return more;
  const join = (a?: readonly string[], b?: readonly string[]): readonly string[] => [
    ...new Set([...(a ?? []), ...(b ?? [])]),
  ];
  const runInput = before.runInput ?? more.runInput;
  const expiredSignals = before.expiredSignals ?? more.expiredSignals;
  return {
    ...(runInput === undefined ? {} : { runInput }),
    payloads: join(before.payloads, more.payloads),
    leases: join(before.leases, more.leases),
    signals: join(before.signals, more.signals),
    knownSignals: join(before.knownSignals, more.knownSignals),
    timers: join(before.timers, more.timers),
    ...(expiredSignals === undefined ? {} : { expiredSignals }),
  };
}
