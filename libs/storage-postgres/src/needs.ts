import type { BufferedSignal, ExpiredSignal, LeaseFacts, Loaded, TaskPayloads, TimerRow } from '@baton/core';
import type { NeedsRequest } from '@baton/engine';
import { flag, integer, text, textOrNull, word } from './decode.js';
import type { Row, Session } from './pool.js';
import { TIMER_KINDS } from './words.js';

type Answers = { -readonly [Key in keyof Loaded]: Loaded[Key] };
type Run = Session['run'];

/** `locked`: under the locks of their rows (R9). `seen`: as they stand; the write repeats them (R30). `absent`: not at all. */
export type LeaseReading = 'locked' | 'seen' | 'absent';

/** Answers `needs` of several runs: one statement for each kind that somebody asked for. */
export async function loadNeeds(
  run: Run,
  requests: readonly NeedsRequest[],
  leases: LeaseReading,
): Promise<ReadonlyMap<string, Loaded>> {
  const answers = new Map<string, Answers>(requests.map((request) => [request.runId, {}]));
  const loaders = [loadInputs, loadPayloads, loadSignals, loadKnownSignals, loadTimers, loadExpired];
  if (leases !== 'absent') loaders.push(leases === 'locked' ? loadLeases('need-leases') : loadLeases('see-leases'));
  for (const load of loaders) await load(run, requests, answers);
  return answers;
}

type Loader = (run: Run, requests: readonly NeedsRequest[], answers: ReadonlyMap<string, Answers>) => Promise<void>;

const loadInputs: Loader = async (run, requests, answers) => {
  const asking = requests.filter((request) => request.needs.runInput === true);
  if (asking.length === 0) return;
  const runs = { runId: asking.map((request) => request.runId), namespace: asking.map((request) => request.namespace) };
  for (const row of await run('need-run-input', { runs })) answerOf(answers, row).runInput = textOrNull(row[1]);
};

const loadPayloads: Loader = async (run, requests, answers) => {
  const asked = keysAsked(requests, 'payloads');
  if (asked === undefined) return;
  const found = perRun<TaskPayloads>(requests, 'payloads');
  for (const row of await run('need-payloads', { tasks: { ...asked.runs, taskId: asked.keys } })) {
    found.get(text(row[0]))?.set(text(row[1]), { input: textOrNull(row[2]), output: textOrNull(row[3]) });
  }
  for (const [runId, payloads] of found) answersOf(answers, runId).payloads = payloads;
};

const loadLeases =
  (statement: 'need-leases' | 'see-leases'): Loader =>
  async (run, requests, answers) => {
    const asked = keysAsked(requests, 'leases');
    if (asked === undefined) return;
    const found = perRun<LeaseFacts>(requests, 'leases');
    for (const row of await run(statement, { tasks: { ...asked.runs, taskId: asked.keys } })) {
      found.get(text(row[0]))?.set(text(row[1]), decodeLease(row));
    }
    for (const [runId, leases] of found) answersOf(answers, runId).leases = leases;
  };

function decodeLease(row: Row): LeaseFacts {
  return {
    leaseId: textOrNull(row[2]),
    leaseOwner: textOrNull(row[3]),
    leaseExpired: flag(row[4]),
    startToClosePassed: flag(row[5]),
    scheduleToStartPassed: flag(row[6]),
    scheduleToClosePassed: flag(row[7]),
    redispatchDue: flag(row[8]),
    backoffOver: flag(row[9]),
    cutOffOver: flag(row[10]),
  };
}

const loadSignals: Loader = async (run, requests, answers) => {
  const asked = keysAsked(requests, 'signals');
  if (asked === undefined) return;
  const found = perRun<BufferedSignal[]>(requests, 'signals');
  for (const request of requests) {
    for (const name of request.needs.signals ?? []) found.get(request.runId)?.set(name, []);
  }
  for (const row of await run('need-signals', { signals: { ...asked.runs, name: asked.keys } })) {
    const name = text(row[1]);
    const signal = { signalId: text(row[2]), name, payload: text(row[3]), payloadHash: text(row[4]) };
    found.get(text(row[0]))?.get(name)?.push(signal);
  }
  for (const [runId, signals] of found) answersOf(answers, runId).signals = signals;
};

const loadKnownSignals: Loader = async (run, requests, answers) => {
  const asked = keysAsked(requests, 'knownSignals');
  if (asked === undefined) return;
  const found = perRun<{ readonly payloadHash: string }>(requests, 'knownSignals');
  for (const row of await run('need-known-signals', { signals: { ...asked.runs, signalId: asked.keys } })) {
    found.get(text(row[0]))?.set(text(row[1]), { payloadHash: text(row[2]) });
  }
  for (const [runId, known] of found) answersOf(answers, runId).knownSignals = known;
};

const loadTimers: Loader = async (run, requests, answers) => {
  const asked = keysAsked(requests, 'timers');
  if (asked === undefined) return;
  const found = perRun<TimerRow>(requests, 'timers');
  for (const row of await run('need-timers', { timers: { ...asked.runs, timerId: asked.keys } })) {
    const timerId = text(row[1]);
    found.get(text(row[0]))?.set(timerId, {
      timerId,
      kind: word(TIMER_KINDS, row[2]),
      nodeId: textOrNull(row[3]),
      generation: integer(row[4]),
      due: flag(row[5]),
    });
  }
  for (const [runId, timers] of found) answersOf(answers, runId).timers = timers;
};

const loadExpired: Loader = async (run, requests, answers) => {
  const asking = requests.filter((request) => request.needs.expiredSignals === true);
  if (asking.length === 0) return;
  const found = new Map<string, ExpiredSignal[]>(asking.map(({ runId }) => [runId, []]));
  const runs = { runId: asking.map((request) => request.runId), namespace: asking.map((request) => request.namespace) };
  for (const row of await run('need-expired-signals', { runs })) {
    found.get(text(row[0]))?.push({ signalId: text(row[1]), name: text(row[2]) });
  }
  for (const [runId, expired] of found) answersOf(answers, runId).expiredSignals = expired;
};

type ListNeed = 'payloads' | 'leases' | 'signals' | 'knownSignals' | 'timers';

interface Asked {
  readonly runs: { readonly runId: string[]; readonly namespace: string[] };
  readonly keys: string[];
}

/** Every (run, key) pair of one kind, in lock order (R7); undefined = nobody asked. */
function keysAsked(requests: readonly NeedsRequest[], need: ListNeed): Asked | undefined {
  const pairs = requests.flatMap((request) => [...new Set(request.needs[need] ?? [])].map((key) => ({ request, key })));
  if (pairs.length === 0) return undefined;
  pairs.sort((a, b) => compare(a.request.runId, b.request.runId) || compare(a.key, b.key));
  return {
    runs: {
      runId: pairs.map(({ request }) => request.runId),
      namespace: pairs.map(({ request }) => request.namespace),
    },
    keys: pairs.map(({ key }) => key),
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** An empty map for every run that asked: what is not in it afterwards does not exist. */
function perRun<T>(requests: readonly NeedsRequest[], need: ListNeed): Map<string, Map<string, T>> {
  return new Map(
    requests
      .filter((request) => request.needs[need] !== undefined)
      .map((request) => [request.runId, new Map<string, T>()] as const),
  );
}

function answersOf(answers: ReadonlyMap<string, Answers>, runId: string): Answers {
  const found = answers.get(runId);
  if (found === undefined) throw new Error(`The database answered for run ${runId}, which was not asked for`);
  return found;
}

function answerOf(answers: ReadonlyMap<string, Answers>, row: Row): Answers {
  return answersOf(answers, text(row[0]));
}
